"""Sentence pairs: formats, line counts, encodings, empties, TensorFlow datasets."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import socket
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.links import AlignmentError
from nmt.config import CorpusConfig, PairsConfig
from nmt.text import datasets
from nmt.text.errors import CorpusError
from nmt.text.lines import read_lines
from nmt.text.pairs import Pair, PairReader


def files(folder: Path, **contents: bytes) -> dict[str, str]:
    """Writes a file for each name and gives the paths."""
    for name, content in contents.items():
        (folder / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    return {name: str(folder / name) for name in contents}


def parallel(folder: Path, source: bytes, target: bytes, **more: bytes) -> PairsConfig:
    return PairsConfig(**files(folder, source=source, target=target, **more))


def standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="ascii"))


class TestReadLines:
    def test_only_newlines_end_a_line(self, tmp_path):
        text = "one\u2028still\x0bone\x85\x0c\x1c\rone\r\n\n two \nno end"
        path = files(tmp_path, text=text.encode())["text"]
        assert list(read_lines(path)) == ["one\u2028still\x0bone\x85\x0c\x1c\rone", "", " two ", "no end"]

    @given(lines=st.lists(st.text().map(lambda line: line.replace("\n", "").rstrip("\r")), max_size=6))
    def test_any_lines_come_back(self, tmp_path_factory, lines):
        path = tmp_path_factory.mktemp("any") / "text"
        path.write_bytes("".join(f"{line}\n" for line in lines).encode())
        expected = [lines[0].removeprefix("\ufeff"), *lines[1:]] if lines else []
        assert list(read_lines(str(path))) == expected

    def test_byte_order_mark_is_removed_at_the_start_only(self, tmp_path):
        path = files(tmp_path, text="\ufeffa\n\ufeffb".encode())["text"]
        assert list(read_lines(path)) == ["a", "\ufeffb"]

    def test_compressed(self, tmp_path):
        (tmp_path / "text.gz").write_bytes(gzip.compress("ä\nö\n".encode()))
        assert list(read_lines(str(tmp_path / "text.gz"))) == ["ä", "ö"]

    def test_standard_input_is_utf8_whatever_the_locale(self, monkeypatch):
        standard_input(monkeypatch, "ä\r\nö".encode())
        assert list(read_lines("-")) == ["ä", "ö"]

    def test_invalid_utf8_names_the_line(self, tmp_path):
        path = files(tmp_path, text="a\u2028b\nc\n".encode() + b"good \xff bad\n")["text"]
        with pytest.raises(CorpusError, match=f"^{path}, line 3: not valid UTF-8 from byte 6 of it on: convert"):
            list(read_lines(path))

    @pytest.mark.parametrize("name", ["missing", "missing.gz", ".", "folder.gz"])
    def test_no_such_file(self, tmp_path, name):
        (tmp_path / "folder.gz").mkdir()
        path = str(tmp_path / name)
        with pytest.raises(CorpusError, match=f"^{path}: (No such file|Is a directory).*: expected a text file$"):
            list(read_lines(path))

    def test_truncated_compressed_file(self, tmp_path):
        whole = gzip.compress("".join(f"line {i * i}\n" for i in range(9999)).encode())
        (tmp_path / "text.gz").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(CorpusError, match=r"text.gz: cut off or damaged after line [1-9]\d+ "):
            list(read_lines(str(tmp_path / "text.gz")))

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"plain text", "is not compressed, whatever its name says"),
            (gzip.compress(b"text" * 99, mtime=0)[:12] + b"\xff" * 50, "cut off or damaged after line 0"),
        ],
    )
    def test_damaged_compressed_file(self, tmp_path, content, message):
        (tmp_path / "text.gz").write_bytes(content)
        with pytest.raises(CorpusError, match=f"text.gz: {message}"):
            list(read_lines(str(tmp_path / "text.gz")))


class TestTwoFiles:
    def test_pairs_line_by_line(self, tmp_path):
        reader = PairReader(parallel(tmp_path, b"a b\n  c\t d \r\n", "ä\nö ö".encode()))
        assert list(reader) == [Pair("a b", "ä"), Pair("c\t d", "ö ö")]
        assert list(reader) == list(reader), "each iteration starts again"

    @pytest.mark.parametrize(("source", "target"), [(3, 2), (2, 3), (5, 0), (0, 1)])
    def test_unequal_counts_name_both(self, tmp_path, source, target):
        reader = PairReader(parallel(tmp_path, b"s\n" * source, b"t\n" * target))
        with pytest.raises(CorpusError, match=f"source has {source} lines, .*target has {target} lines: the same"):
            list(reader)

    def test_nothing_is_shifted_before_unequal_counts_show(self, tmp_path):
        reader = iter(PairReader(parallel(tmp_path, b"1\n2\n3\n", b"1\n2\n")))
        assert [next(reader), next(reader)] == [Pair("1", "1"), Pair("2", "2")]
        with pytest.raises(CorpusError):
            next(reader)

    def test_alignment_goes_along(self, tmp_path):
        pairs = parallel(tmp_path, b"a\n\nc\nd\n", b"A\nB\n\xff\nD\n", alignment=b"0-0\n1-1\n2-2\n\n")
        reader = PairReader(pairs, CorpusConfig(on_invalid="drop"))
        assert list(reader) == [Pair("a", "A", "0-0"), Pair("d", "D", "")]

    def test_alignment_count_is_checked(self, tmp_path):
        reader = PairReader(parallel(tmp_path, b"a\nb\n", b"A\nB\n", alignment=b"0-0\n"))
        with pytest.raises(CorpusError, match="source has 2 lines, .*target has 2 lines, .*alignment has 1 line"):
            list(reader)

    def test_standard_input_once(self, tmp_path, monkeypatch):
        standard_input(monkeypatch, b"a\nb\n")
        reader = PairReader(PairsConfig(source="-", **files(tmp_path, target=b"A\nB\n")))
        assert list(reader) == [Pair("a", "A"), Pair("b", "B")]
        with pytest.raises(CorpusError, match="read only once"):
            list(reader)
        with pytest.raises(CorpusError, match="more than once"):
            PairReader(PairsConfig(source="-", target="-"))

    def test_nothing_given(self):
        with pytest.raises(CorpusError, match="no sentence pairs are given"):
            PairReader(PairsConfig())


class TestFingerprint:
    def test_bytes_count_and_not_names(self, tmp_path):
        one = parallel(tmp_path, b"a\nb\n", b"A\nB\n", alignment=b"0-0\n0-0\n")
        (tmp_path / "copy").mkdir()
        same = parallel(tmp_path / "copy", b"a\nb\n", b"A\nB\n", alignment=b"0-0\n0-0\n")
        before = PairReader(one).fingerprint()
        assert PairReader(same).fingerprint() == before
        for field in ("source", "target", "alignment"):
            path = Path(getattr(one, field))
            content = path.read_bytes()
            path.write_bytes(content + b"\n")
            assert PairReader(one).fingerprint() != before
            path.write_bytes(content)
        assert PairReader(one).fingerprint() == before

    def test_columns_count(self, tmp_path):
        (tmp_path / "pairs.tsv").write_bytes(b"a\tA\n")
        tsv = PairsConfig(tsv=str(tmp_path / "pairs.tsv"))
        assert PairReader(tsv).fingerprint() != PairReader(replace(tsv, source_column=2, target_column=1)).fingerprint()

    def test_what_cannot_be_read_again(self, tmp_path):
        with pytest.raises(CorpusError, match="nowhere: No such file or directory: expected a text file"):
            PairReader(PairsConfig(source="nowhere", target="nowhere")).fingerprint()
        with pytest.raises(CorpusError, match="standard input can be read only once"):
            PairReader(PairsConfig(source="-", **files(tmp_path, target=b"A\n"))).fingerprint()
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(CorpusError, match="pipe can be read only once, the pairs are needed again: use files"):
            PairReader(PairsConfig(source=str(tmp_path / "pipe"), **files(tmp_path, target=b"A\n"))).fingerprint()

    def test_alignments_that_do_not_fit_their_pairs(self, tmp_path):
        for links, message in ((b"SURE", "alignment, line 2: 'SURE' is no link"), (b"0-1", "alignment, line 2: ")):
            reader = PairReader(parallel(tmp_path, b"a b\nb\n", b"A B\nB\n", alignment=b"0-1 1-0\n" + links + b"\n"))
            with pytest.raises(AlignmentError, match=message):
                list(reader)


class TestInvalidAndEmpty:
    SOURCE = b"a\nb\xff\n\nd\n\xfe\n \t\ng\n"
    TARGET = b"A\nB\nC\n\xe2\x80\nE\nF\nG\n"

    def test_invalid_stops_by_default(self, tmp_path):
        reader = PairReader(parallel(tmp_path, self.SOURCE, self.TARGET))
        with pytest.raises(CorpusError, match="source, line 2: not valid UTF-8 from byte 2 .*on_invalid drop leave"):
            list(reader)

    def test_dropped_and_counted(self, tmp_path):
        reader = PairReader(parallel(tmp_path, self.SOURCE, self.TARGET), CorpusConfig(on_invalid="drop"))
        assert list(reader) == [Pair("a", "A"), Pair("g", "G")]
        report = reader.report
        assert (report.read, report.kept, report.empty, report.invalid) == (7, 2, 2, 3)
        places = [f"{tmp_path}/{place}" for place in ("source, line 2", "target, line 4", "source, line 5")]
        assert report.examples == places
        assert report.summary() == (
            f"7 pairs read, 2 kept; dropped: 2 with an empty side, 3 not valid UTF-8 ({'; '.join(places)})"
        )

    def test_report_of_clean_pairs_and_of_the_last_complete_iteration(self, tmp_path):
        reader = PairReader(parallel(tmp_path, b"a\nb\n", b"A\nB\n"))
        next(iter(reader))
        assert reader.report.read == 0
        for _ in range(2):
            list(reader)
            assert reader.report.summary() == "2 pairs read, 2 kept"

    def test_many_invalid_lines_are_counted_not_listed(self, tmp_path):
        pairs = parallel(tmp_path, b"\xff\n" * 50, b"A\n" * 50)
        reader = PairReader(pairs, CorpusConfig(on_invalid="drop"))
        assert list(reader) == []
        assert reader.report.invalid == 50 and len(reader.report.examples) == 3
        assert reader.report.summary().endswith("line 3, ...)")

    @pytest.mark.parametrize(
        ("source", "target", "where"), [(b"a\n \n", b"A\nB\n", "source"), (b"a\nb", b"A\n\n", "target")]
    )
    def test_empty_can_stop(self, tmp_path, source, target, where):
        reader = PairReader(parallel(tmp_path, source, target), CorpusConfig(on_empty="stop"))
        with pytest.raises(CorpusError, match=f"{where}, line 2: no sentence: .*corpus.on_empty"):
            list(reader)


class TestTsv:
    def read(self, folder: Path, content: bytes, name: str = "pairs.tsv", **values) -> list[Pair]:
        (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return list(PairReader(PairsConfig(tsv=str(folder / name), **values)))

    def test_columns(self, tmp_path):
        content = "\ufeff1\tHallo\tx\tHello\r\n2\tTschüss\ty\tBye\n".encode()
        expected = [Pair("Hallo", "Hello"), Pair("Tschüss", "Bye")]
        assert self.read(tmp_path, content, source_column=2, target_column=4) == expected
        assert self.read(tmp_path, content, source_column=4, target_column=2) == [
            Pair(p.target, p.source) for p in expected
        ]
        assert self.read(tmp_path, content, "pairs.tsv.gz", source_column=2, target_column=4) == expected
        assert self.read(tmp_path, content)[0] == Pair("1", "Hallo")

    def test_quotes_mean_nothing(self, tmp_path):
        content = b'"open\t"shut"\n""\t\'\n'
        assert self.read(tmp_path, content) == [Pair('"open', '"shut"'), Pair('""', "'")]

    def test_too_few_columns(self, tmp_path):
        with pytest.raises(CorpusError, match=r"pairs.tsv, line 2: 2 columns, expected at least 3 separated by tabs"):
            self.read(tmp_path, b"a\tb\tc\nd\te\n", target_column=3)
        with pytest.raises(CorpusError, match=r"line 1: 1 column, expected at least 2"):
            self.read(tmp_path, b"a b\n")

    def test_blank_line_is_an_empty_pair(self, tmp_path):
        (tmp_path / "pairs.tsv").write_bytes(b"a\tA\n\n\tC\nd\tD\n")
        reader = PairReader(
            PairsConfig(tsv=str(tmp_path / "pairs.tsv"), **files(tmp_path, alignment=b"0-0\n2\n3\n0p0\n"))
        )
        assert list(reader) == [Pair("a", "A", "0-0"), Pair("d", "D", "0p0")]
        assert reader.report.empty == 2

    def test_only_the_columns_used_must_be_valid(self, tmp_path):
        assert self.read(tmp_path, b"a\tA\t\xff\n") == [Pair("a", "A")]
        with pytest.raises(CorpusError, match="pairs.tsv, line 1: not valid UTF-8"):
            self.read(tmp_path, b"a\t\xff\n")


EXAMPLES = [("um dois", "one two"), ("três", "three"), ("", "nothing"), ("quatro\u2028", "four")] * 10


@pytest.fixture(scope="module")
def tfds():
    return pytest.importorskip("tensorflow_datasets")


@pytest.fixture(scope="module")
def prepared(tfds, tmp_path_factory) -> str:
    """A directory with a prepared dataset whose code is not known, as on a machine without network access."""

    class TinyTalks(tfds.core.GeneratorBasedBuilder, skip_registration=True):
        VERSION = tfds.core.Version("1.0.0")
        BUILDER_CONFIGS = [tfds.core.BuilderConfig(name="pt_to_en", version=VERSION)]

        def _info(self):
            text = {name: tfds.features.Text() for name in ("pt", "en", "bytes")}
            features = tfds.features.FeaturesDict({**text, "label": tfds.features.ClassLabel(num_classes=2)})
            return tfds.core.DatasetInfo(
                builder=self, features=features, supervised_keys=("pt", "en"), disable_shuffling=True
            )

        def _split_generators(self, dl_manager):
            return {"train": self._generate_examples(EXAMPLES), "test": self._generate_examples(EXAMPLES[:2])}

        def _generate_examples(self, pairs):
            for number, (pt, en) in enumerate(pairs):
                yield number, {"pt": pt, "en": en, "bytes": b"\xff" if number == 1 else b"ok", "label": 0}

    directory = tmp_path_factory.mktemp("tfds")
    two_shards = tfds.download.DownloadConfig(num_shards=2)
    TinyTalks(config="pt_to_en", data_dir=directory).download_and_prepare(download_config=two_shards)
    return str(directory)


class TestTensorFlowDatasets:
    def config(self, prepared: str, **values) -> PairsConfig:
        return PairsConfig(**{"tfds": "tiny_talks/pt_to_en", "tfds_directory": prepared, **values})

    def failure(self, pairs: PairsConfig) -> str:
        with pytest.raises(CorpusError) as caught:
            list(PairReader(pairs))
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def test_supervised_keys_in_stored_order(self, prepared):
        reader = PairReader(self.config(prepared))
        expected = [Pair("um dois", "one two"), Pair("três", "three"), Pair("quatro", "four")] * 10
        assert list(reader) == expected
        assert reader.report.empty == 10
        assert list(reader) == expected

    def test_split_and_features(self, prepared):
        pairs = self.config(prepared, split="test", tfds_source="en", tfds_target="pt")
        assert list(PairReader(pairs)) == [Pair("one two", "um dois"), Pair("three", "três")]
        assert list(PairReader(self.config(prepared, split="train[1:2]"))) == [Pair("três", "three")]

    def test_fingerprint_is_of_the_files(self, prepared, tmp_path):
        shutil.copytree(prepared, tmp_path / "copy")
        before = PairReader(self.config(prepared)).fingerprint()
        copy = self.config(str(tmp_path / "copy"))
        assert PairReader(copy).fingerprint() == before
        assert PairReader(replace(copy, split="test")).fingerprint() != before
        shard = next((tmp_path / "copy").rglob("*-train.*"))
        shard.write_bytes(shard.read_bytes() + b"\n")
        assert PairReader(copy).fingerprint() != before

    def test_alignment_file(self, prepared, tmp_path):
        pairs = self.config(prepared, split="test", **files(tmp_path, alignment=b"0-0 1-1\n0-0\n"))
        assert [pair.alignment for pair in PairReader(pairs)] == ["0-0 1-1", "0-0"]
        (tmp_path / "alignment").write_bytes(b"0-0\n")
        assert "tiny_talks/pt_to_en test has 2 examples, " in self.failure(pairs)

    def test_invalid_utf8(self, prepared):
        pairs = self.config(prepared, tfds_target="bytes")
        assert self.failure(pairs).startswith("tiny_talks/pt_to_en train, example 2: not valid UTF-8")
        kept = list(PairReader(pairs, CorpusConfig(on_invalid="drop")))
        assert len(kept) == 29

    def test_unknown_names(self, prepared):
        assert "no_such_thing: neither a dataset" in self.failure(self.config(prepared, tfds="no_such_thing"))
        assert "tiny_talks/fr_to_en: neither" in self.failure(self.config(prepared, tfds="tiny_talks/fr_to_en"))
        message = self.failure(self.config(prepared, split="dev"))
        assert "tiny_talks/pt_to_en: " in message and "'dev'" in message and "test" in message and "train" in message

    @pytest.mark.parametrize("feature", ["fr", "label"])
    def test_feature_that_is_not_there_or_not_text(self, prepared, feature):
        message = self.failure(self.config(prepared, tfds_source=feature))
        assert f"no text feature '{feature}'" in message and message.endswith("two of: bytes, en, pt")

    def test_no_supervised_keys(self, tfds, tmp_path):
        features = tfds.features.FeaturesDict({"a": tfds.features.Text(), "b": tfds.features.Text()})
        tfds.dataset_builders.store_as_tfds_dataset(
            "plain", "1.0.0", features, {"train": [(0, {"a": "x", "b": "y"})]}, data_dir=tmp_path
        )
        pairs = PairsConfig(tfds="plain", tfds_directory=str(tmp_path))
        assert "set tfds_source and tfds_target to two of: a, b" in self.failure(pairs)
        named = PairsConfig(tfds="plain", tfds_directory=str(tmp_path), tfds_source="b", tfds_target="a")
        assert list(PairReader(named)) == [Pair("y", "x")]

    def test_without_the_library(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
        assert "pip install tensorflow-datasets importlib_resources" in self.failure(PairsConfig(tfds="x"))

    def test_damaged_records(self, prepared, tmp_path):
        import shutil

        copy = shutil.copytree(prepared, tmp_path / "copy")
        for record in copy.rglob("*tfrecord*"):
            record.write_bytes(record.read_bytes()[:-5])
        assert self.failure(self.config(str(copy))).startswith("tiny_talks/pt_to_en: ")


@pytest.fixture
def download(tfds, monkeypatch):
    """Makes the registered dataset `far_away` come from a URL, and says how often it was tried."""
    tries: list[str] = []

    class FarAway(tfds.core.GeneratorBasedBuilder, skip_registration=True):
        VERSION = tfds.core.Version("1.0.0")
        name = "far_away"
        url_infos = {}

        def _info(self):
            return tfds.core.DatasetInfo(
                builder=self,
                features=tfds.features.Translation(languages=("pt", "en")),
                supervised_keys=("pt", "en"),
            )

        def _split_generators(self, dl_manager):
            tries.append("prepare")
            return {"train": self._generate_examples()}

        def _generate_examples(self):
            yield 0, {"pt": "um", "en": "one"}

    def builder(name, data_dir, try_gcs):
        assert not try_gcs
        return FarAway(data_dir=data_dir)

    monkeypatch.setattr(tfds, "builder", builder)
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)

    def come_from(*urls: str) -> list[str]:
        FarAway.url_infos = dict.fromkeys(urls)
        return tries

    return come_from


@pytest.fixture
def server():
    """A listening socket; whoever connects waits until a test answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


class TestDownload:
    def pairs(self, folder: Path) -> PairsConfig:
        return PairsConfig(tfds="far_away", tfds_directory=str(folder))

    def test_unreachable_host_is_found_out_at_once(self, download, server, tmp_path):
        tries = download(f"http://127.0.0.1:{server.getsockname()[1]}/data.zip")
        server.close()
        start = time.monotonic()
        with pytest.raises(CorpusError, match="far_away: not prepared in .* 127.0.0.1:.* cannot be reached .*network"):
            list(PairReader(self.pairs(tmp_path)))
        assert time.monotonic() - start < 3 and tries == []

    def test_silent_host_is_given_up(self, download, server, tmp_path, monkeypatch):
        monkeypatch.setattr(datasets, "_PROBE_SECONDS", 0.2)
        tries = download(f"http://127.0.0.1:{server.getsockname()[1]}/data.zip")
        with pytest.raises(CorpusError, match="cannot be reached"):
            list(PairReader(self.pairs(tmp_path)))
        assert tries == []

    def test_reachable_host_or_none_needed(self, download, server, tmp_path):
        import threading

        def answer():
            connection, _ = server.accept()
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        tries = download(f"http://127.0.0.1:{server.getsockname()[1]}/data.zip")
        assert list(PairReader(self.pairs(tmp_path / "answered"))) == [Pair("um", "one")]
        thread.join()
        download("ftp://127.0.0.1:9/data.zip")
        assert list(PairReader(self.pairs(tmp_path / "not_http"))) == [Pair("um", "one")]
        download()
        assert list(PairReader(self.pairs(tmp_path / "no_url"))) == [Pair("um", "one")]
        assert tries == ["prepare"] * 3

    @pytest.mark.parametrize("fetched", ["far_away/data.zip.INFO", "manual/data.zip"])
    def test_prepared_or_downloaded_needs_no_network(self, download, server, tmp_path, fetched):
        dead = f"http://127.0.0.1:{server.getsockname()[1]}/data.zip"
        server.close()
        file = tmp_path / "downloads" / fetched
        file.parent.mkdir(parents=True)
        file.write_text("{}")
        tries = download(dead)
        for _ in range(2):
            assert list(PairReader(self.pairs(tmp_path))) == [Pair("um", "one")]
        assert tries == ["prepare"], "the second reading finds it prepared"
