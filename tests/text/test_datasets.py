"""Sentence pairs from TensorFlow datasets, prepared or downloaded."""

from __future__ import annotations

import shutil
import socket
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from text_files import files

from nmt.config import CorpusConfig, PairsConfig
from nmt.text import datasets
from nmt.text.errors import CorpusError
from nmt.text.pairs import Pair, PairReader

EXAMPLES = [("um dois", "one two"), ("três", "three"), ("", "nothing"), ("quatro\u2028", "four")] * 10


@pytest.fixture(scope="module")
def tfds():
    return pytest.importorskip("tensorflow_datasets")


@pytest.fixture(scope="module")
def prepared(tfds, tmp_path_factory) -> str:
    """A directory with a prepared dataset whose code is missing, as on a machine without network access."""

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
        assert "no_such_thing: unknown to tensorflow_datasets" in self.failure(
            self.config(prepared, tfds="no_such_thing")
        )
        assert "tiny_talks/fr_to_en: unknown to" in self.failure(self.config(prepared, tfds="tiny_talks/fr_to_en"))
        message = self.failure(self.config(prepared, split="dev"))
        assert "tiny_talks/pt_to_en: " in message and "'dev'" in message and "test" in message and "train" in message

    @pytest.mark.parametrize("feature", ["fr", "label"])
    def test_missing_or_numeric_feature_is_refused(self, prepared, feature):
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
        assert "pip install --constraint constraints.txt -e ." in self.failure(PairsConfig(tfds="x"))

    def test_damaged_records(self, prepared, tmp_path):
        copy = shutil.copytree(prepared, tmp_path / "copy")
        for record in copy.rglob("*tfrecord*"):
            record.write_bytes(record.read_bytes()[:-5])
        assert self.failure(self.config(str(copy))).startswith("tiny_talks/pt_to_en: ")


@pytest.fixture
def download(tfds, monkeypatch):
    """Lets the dataset `far_away` come from a URL; the result is a list with an entry for each preparation."""
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
    """A listening socket. A client waits until the test answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


class TestDownload:
    def pairs(self, folder: Path) -> PairsConfig:
        return PairsConfig(tfds="far_away", tfds_directory=str(folder))

    def test_unreachable_host_is_refused_at_once(self, download, server, tmp_path):
        tries = download(f"http://127.0.0.1:{server.getsockname()[1]}/data.zip")
        server.close()
        start = time.monotonic()
        with pytest.raises(CorpusError, match="far_away: not prepared in .* 127.0.0.1:.* cannot be reached .*network"):
            list(PairReader(self.pairs(tmp_path)))
        assert time.monotonic() - start < 3 and tries == []

    def test_silent_host_is_refused_after_the_time_limit(self, download, server, tmp_path, monkeypatch):
        monkeypatch.setattr(datasets, "_PROBE_SECONDS", 0.2)
        tries = download(f"http://127.0.0.1:{server.getsockname()[1]}/data.zip")
        with pytest.raises(CorpusError, match="cannot be reached"):
            list(PairReader(self.pairs(tmp_path)))
        assert tries == []

    def test_reachable_host_or_none_needed(self, download, server, tmp_path):
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
        assert tries == ["prepare"], "the second reading uses the prepared dataset"
