"""`nmt prepare`: its pairs are those of a training from text, by one process or several."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import commands
import copy_task
import numpy as np
import pytest
from corpus_preparation import SOURCES, flipped, made, settings

from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.sharded_corpus import RECORD, ShardedCorpus
from nmt.cli import main
from nmt.config import ConfigError, CorpusConfig, PairsConfig, RunConfig, TrainingConfig, VocabularyConfig
from nmt.errors import NmtError
from nmt.files.digests import digest_file
from nmt.progress import LineProgress
from nmt.run.errors import RunError
from nmt.run.prepared_manifest import read_prepared
from nmt.training.preparation.corpus_files import cache_key, write_corpus_files
from nmt.training.preparation.languages import with_languages
from nmt.training.preparation.prepare import follow, prepare
from nmt.training.preparation.shards import blocks, packing, preparing
from nmt.training.preparation.shards.parts import PLAIN, Part, read_parts
from nmt.training.preparation.shards.preparing import prepare_corpus
from nmt.training.settings import load_config
from nmt.translation.short_list import ShortList


def bags(corpus: ShardedCorpus | EncodedCorpus) -> list[tuple[bytes, bytes]]:
    """All pairs, sorted."""
    found = []
    for index in range(len(corpus)):
        batch = corpus.batch(np.array([index]))
        found.append((batch.source.tobytes(), batch.target_out.tobytes()))
    return sorted(found)


def test_the_pairs_are_those_of_a_training_from_the_text(text: PairsConfig, tmp_path: Path) -> None:
    lines = made(tmp_path / "p", text)
    assert "300 pairs read, 300 kept" in lines
    assert "295 training pairs prepared" in lines
    corpus = ShardedCorpus(tmp_path / "p/shards")
    assert len(corpus) == 295
    assert len(corpus.corpora[0].shards) == 4
    one_file = tmp_path / "all"
    for side, change in (("en", str), ("fr", str.upper)):
        one_file.with_suffix(f".{side}").write_text("".join(f"{change(line)}\n" for line in SOURCES))
    train = {"source": f"{one_file}.en", "target": f"{one_file}.fr"}
    config = settings(corpus={"train": train, "held_out": 5, "near_duplicates": "keep"})
    config = with_languages(config, print)
    write_corpus_files(tmp_path / "usual", config, cache_key(config), print)
    assert (tmp_path / "usual/shared.model").read_bytes() == (tmp_path / "p/shared.model").read_bytes()
    assert bags(corpus) == bags(EncodedCorpus(tmp_path / "usual/corpus"))
    held_out = (tmp_path / "p/validation.jsonl").read_text().splitlines()
    assert held_out == (tmp_path / "usual/corpus/validation.jsonl").read_text().splitlines()


def test_other_text_and_other_settings_are_refused(text: PairsConfig, tmp_path: Path) -> None:
    made(tmp_path / "p", text)
    assert "is prepared already, from this text and with these settings" in made(tmp_path / "p", text)[0]
    with pytest.raises(NmtError, match=r"p: was begun with something else \(vocabulary.size differs\): give another"):
        made(tmp_path / "p", text, vocabulary={"type": "char", "size": 50})
    (tmp_path / "text/1.en").write_text("changed\n" * 100)
    with pytest.raises(NmtError, match=r"\(the text differs\)"):
        made(tmp_path / "p", text)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/mine").write_text("")
    with pytest.raises(NmtError, match="other is not empty and no prepared corpus"):
        made(tmp_path / "other", text)
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["mine"]


def test_mistakes_are_named(text: PairsConfig, tmp_path: Path) -> None:
    (tmp_path / "text/9.en").write_text("one more\n")
    with pytest.raises(NmtError, match=r"\.en has 4 files, and .*\.fr has 3: expected a target file for each source"):
        made(tmp_path / "p", text)
    (tmp_path / "text/9.fr").write_text("two\nlines\n")
    with pytest.raises(NmtError, match=r"9\.en has 1 line, .*9\.fr has 2 lines"):
        made(tmp_path / "p", text)
    (tmp_path / "text/9.fr").write_bytes(b"\xff\n")
    shutil.rmtree(tmp_path / "p")
    with pytest.raises(NmtError, match=r"9\.fr, line 1: not valid UTF-8"):
        made(tmp_path / "p", text)
    (tmp_path / "text/9.en").unlink()
    (tmp_path / "text/9.fr").unlink()
    with pytest.raises(NmtError, match=r"would be held out for validation, .*: give --corpus.held_out \d+$"):
        made(tmp_path / "much", text, corpus={"held_out": 200})
    with pytest.raises(NmtError, match=r"nowhere\*: no file has such a name"):
        made(tmp_path / "q", PairsConfig(tsv=str(tmp_path / "nowhere*")))
    assert not (tmp_path / "q").exists()


def test_parts_with_weights_from_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remote files, a Parquet file and the YAML file of the parts."""
    fsspec, arrow = pytest.importorskip("fsspec"), pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(blocks, "ROWS", 50)
    for side, change in (("en", str), ("fr", str.upper)):
        with fsspec.open(f"memory://parts/a.{side}.gz", "wt", compression="gzip") as file:
            file.write("".join(f"{change(line)}\n" for line in SOURCES[:200]))
    table = arrow.table({"en": SOURCES[200:], "fr": list(map(str.upper, SOURCES[200:]))})
    parquet.write_table(table, tmp_path / "b.parquet")
    (tmp_path / "parts.yaml").write_text(
        "web: {source: 'memory://parts/*.en.gz', target: 'memory://parts/*.fr.gz'}\n"
        "news: {parquet: '*.parquet', weight: 2}\n"
    )
    parts = read_parts(str(tmp_path / "parts.yaml"))
    manifest = prepare_corpus(tmp_path / "p", settings(), parts, 1, print)
    corpus = ShardedCorpus(tmp_path / "p/shards")
    assert [(one.name, one.weight) for one in corpus.corpora] == [("web", 1.0), ("news", 2.0)]
    assert sum(one.pairs for one in corpus.corpora) == manifest.pairs == 295
    assert abs(corpus.quotas[1] - 295 / 2) <= 3  # twice 100 of 200 + 2 * 100, but for the held-out pairs
    for content in ("[]", "a: 3", "a: {weight: 0, tsv: x}", "a: {weight: .inf, tsv: x}", "a: {sauce: x}"):
        (tmp_path / "bad.yaml").write_text(content)
        with pytest.raises(ConfigError, match=r"bad\.yaml: "):
            read_parts(str(tmp_path / "bad.yaml"))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the prepared copy task `p`, which each test leaves as it was."""
    directory = tmp_path_factory.mktemp("prepared")
    copy_corpus(directory)
    return directory


def copy_corpus(directory: Path, **changes: object) -> RunConfig:
    """A prepared copy task and the configuration of a short training on it."""
    copy_task.write_corpus(directory, train=200, validation=5)
    config = copy_task.config(directory)
    prepare_corpus(directory / "p", config, [Part(PLAIN, config.corpus.train)], 1, print)
    return config_on(directory, **changes)


def config_on(directory: Path, **changes: object) -> RunConfig:
    """The configuration of a short training on the corpus `p`."""
    flags = ["--corpus.prepared", str(directory / "p"), "--directory", str(directory / "runs")]
    flags += ["--model.units", "16", "--model.embedding", "8", "--training.batch_tokens", "60"]
    return load_config(None, [*flags, *map(str, changes.pop("flags", ()))])  # type: ignore[call-overload]


def test_a_run_takes_the_settings_of_its_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "_FIRST", 50)
    config = copy_corpus(tmp_path)
    opened = prepare(config, "float32", print)
    assert isinstance(opened.train, ShardedCorpus)
    assert (tmp_path / "runs/run/shared.model").read_bytes() == (tmp_path / "p/shared.model").read_bytes()
    assert not list((tmp_path / "runs/run/corpus").glob("*.ids"))
    assert isinstance(prepare(config, "float32", print).train, ShardedCorpus)
    prepared = ["--corpus.prepared", str(tmp_path / "p")]
    for flags, message in (
        (["--vocabulary.size", "77"], "vocabulary.size is 77, but .* was prepared with"),
        (["--corpus.max_pieces", "7"], "corpus.max_pieces is 7, but .* was prepared with"),
        (["--training.guided.links", "x"], "a prepared corpus has none"),
        (["--corpus.train.source", "x", "--corpus.train.target", "y"], "leave corpus.train and"),
    ):
        with pytest.raises(ConfigError, match=message):
            load_config(None, [*prepared, *flags])
    with pytest.raises(RunError, match="nowhere: holds no prepared corpus"):
        load_config(None, ["--corpus.prepared", str(tmp_path / "nowhere")])
    manifest = read_prepared(tmp_path / "p")
    replace(manifest, pairs=manifest.pairs + 1).save(tmp_path / "p")
    with pytest.raises(RunError, match="run has neither shortlist.npz nor the training pairs"):
        ShortList.of_run(opened.run)
    with pytest.raises(RunError, match="was begun with another corpus than"):
        prepare(config, "float32", print)


def test_a_program_begins_and_resumes_a_run_with_the_corpus_alone(prepared: Path) -> None:
    """A setting of the text that has its default counts as left open."""
    config = RunConfig(directory=str(prepared / "runs"), corpus=CorpusConfig(prepared=str(prepared / "p")))
    begun = prepare(config, "float32", print).run.config
    assert begun.vocabulary.size == read_prepared(prepared / "p").settings["vocabulary"]["size"] != 8000
    assert prepare(config, "float32", print).run.config == follow(config).run.config == begun
    shutil.rmtree(prepared / "runs")
    for changed, message in (
        (replace(config, vocabulary=VocabularyConfig(size=77)), "vocabulary.size is 77, but .* was prepared with"),
        (replace(config, training=TrainingConfig(aligner=True)), "training.aligner needs links of the pairs"),
    ):
        with pytest.raises(ConfigError, match=message):
            prepare(changed, "float32", print)
    assert not (prepared / "runs").exists()


@pytest.mark.parametrize("name", ["shared.model", "validation.jsonl", "report.txt", "profile.json"])
def test_a_damaged_copy_begins_no_run(name: str, prepared: Path) -> None:
    """The same command goes on when the file is restored."""
    whole = (prepared / "p" / name).read_bytes()
    config = config_on(prepared)
    (prepared / "p" / name).write_bytes(flipped(whole))
    with pytest.raises(RunError, match=rf"p/{name}: damaged, because it differs from manifest\.json: restore the file"):
        prepare(config, "float32", print)
    assert not (prepared / "runs/run/config.json").exists()
    (prepared / "p" / name).write_bytes(whole)
    prepare(config, "float32", print)
    assert list((prepared / "runs/run").rglob(Path(name).name))[0].read_bytes() == whole
    shutil.rmtree(prepared / "runs")


def test_a_damaged_report_of_a_finished_corpus_is_one_line(prepared: Path) -> None:
    path, config = prepared / "p/report.txt", copy_task.config(prepared)
    whole = path.read_bytes()
    path.write_bytes(b"\xff" + whole[1:])
    with pytest.raises(RunError, match=r"p/report\.txt: damaged, because it differs from manifest\.json"):
        prepare_corpus(prepared / "p", config, [Part(PLAIN, config.corpus.train)], 1, print)
    path.write_bytes(whole)


def test_a_flipped_bit_in_a_shard_ends_a_training(prepared: Path) -> None:
    path = prepared / "p/shards/00000.ids"
    whole = path.read_bytes()
    path.write_bytes(flipped(whole))
    opened = prepare(config_on(prepared), "float32", print)
    with pytest.raises(NmtError, match=r"00000\.ids differs from its sum in manifest\.json"):
        opened.train.batch(np.array([0]))
    path.write_bytes(whole)
    shutil.rmtree(prepared / "runs")


def test_no_bit_of_the_manifest_can_change(prepared: Path) -> None:
    path = prepared / "p/manifest.json"
    whole, manifest = path.read_bytes(), read_prepared(prepared / "p")
    for place in range(0, len(whole), 41):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 7
        path.write_bytes(changed)
        try:
            assert read_prepared(prepared / "p") == manifest, place  # other white space
        except RunError as error:
            assert "p/manifest.json: damaged: restore the file" in str(error)
    path.write_bytes(whole)


def test_verify_names_the_damaged_file_of_a_prepared_corpus(prepared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = prepared / "p"
    assert main(["verify", str(corpus)]) == 0
    assert f"{corpus}: 9 files and manifest.json, all as nmt wrote them" in capsys.readouterr().out
    for name in sorted(read_prepared(corpus).files):
        whole = (corpus / name).read_bytes()
        (corpus / name).write_bytes(flipped(whole))
        assert main(["verify", str(corpus)]) == 2
        assert f"{corpus / name}: damaged, because it differs from manifest.json" in capsys.readouterr().err
        (corpus / name).unlink()
        assert main(["verify", str(corpus)]) == 2
        assert f"{corpus / name}: no such file" in capsys.readouterr().err
        (corpus / name).write_bytes(whole)
    assert main(["verify", "--accept", str(corpus)]) == 2
    assert "is a prepared corpus, which cannot be changed" in capsys.readouterr().err
    (corpus / "manifest.json").rename(prepared / "aside")
    assert main(["verify", str(corpus)]) == 2
    assert "p: holds no prepared corpus" in capsys.readouterr().err
    (prepared / "aside").rename(corpus / "manifest.json")


def test_recipe_auto_reads_the_manifest_alone(tmp_path: Path) -> None:
    copy_corpus(tmp_path)
    for path in (tmp_path / "p/shards").iterdir():
        path.write_bytes(b"")
    lines: list[str] = []
    config = load_config(None, ["--corpus.prepared", str(tmp_path / "p")], "auto", lines.append)
    assert lines[0].startswith("recipe 100 is for fewer than 320 pairs: 200 are prepared")
    assert config.training.validate_every > 0


@pytest.mark.parametrize("name", ["00000.ids", "00000.index", "00000.done.npz"])
def test_a_shard_that_cannot_be_written_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.ids").write_bytes(np.array([4, 5], np.uint16).tobytes())
    (tmp_path / "a.index").write_bytes(np.array([(0, 1, 1)], RECORD).tobytes())
    (tmp_path / f".{name}.part").symlink_to("/dev/full")
    sums = {end: digest_file(tmp_path / f"a{end}") for end in (".ids", ".index")}
    packer = packing.Packer(tmp_path, tmp_path, "<u2", 8, "delete it")
    with pytest.raises(OSError, match="No space left on device") as error:
        packer.pack("part", 1.0, [packing.EncodedBlock("a", 1, 2, sums)], LineProgress(1))
    assert error.value.filename == str(tmp_path / name)


def test_counts_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "lengths.npy").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device") as error:
        ShardedCorpus.write_about(tmp_path, "<u2", [], {"lengths.npy": np.zeros(1, np.int64)})
    assert error.value.filename == str(tmp_path / "lengths.npy")


@pytest.mark.slow
def test_text_from_s3(tmp_path: Path) -> None:
    """A server of moto on this machine. moto needs an environment of its own, and old ones lack what Arrow asks for."""
    server = os.environ.get("NMT_MOTO_SERVER")
    if not server:
        pytest.skip("NMT_MOTO_SERVER is not set: pip install 'moto[s3,server]' elsewhere, name its moto_server")
    filesystems = pytest.importorskip("pyarrow.fs")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    account = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    account |= {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_EC2_METADATA_DISABLED": "true"}
    with subprocess.Popen([server, "-H", "127.0.0.1", "-p", str(port)], stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            client = filesystems.S3FileSystem(
                access_key="test",
                secret_key="test",
                endpoint_override=f"http://127.0.0.1:{port}",
                region="us-east-1",
                allow_bucket_creation=True,
            )
            client.create_dir("texts")
            for side, change in (("en", str), ("fr", str.upper)):
                for number in range(2):
                    with client.open_output_stream(f"texts/{number}.{side}.gz", compression="gzip") as file:
                        file.write("".join(f"{change(line)}\n" for line in SOURCES[number::2]).encode())
            command = ["-m", "nmt", "prepare", "--output", "p", "--processes", "2", "--corpus.near_duplicates", "keep"]
            command += ["--corpus.train.source", "s3://texts/*.en.gz", "--corpus.train.target", "s3://texts/*.fr.gz"]
            command += ["--corpus.held_out", "5", "--vocabulary.type", "char", "--vocabulary.size", "60"]
            result = subprocess.run(
                [sys.executable, *command],
                cwd=tmp_path,
                env=commands.environment() | account,
                capture_output=True,
                text=True,
            )
        finally:
            process.terminate()
    assert result.returncode == 0, result.stderr
    assert len(ShardedCorpus(tmp_path / "p/shards")) == 295


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.2)
