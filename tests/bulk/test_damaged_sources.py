"""Sources that are damaged, have the wrong name, or have marks of patterns in their names."""

from __future__ import annotations

import bz2
import gzip
import lzma
import warnings
from pathlib import Path

import pytest

pytest.importorskip("apache_beam", reason="bash scripts/beam.sh makes an environment with Apache Beam and runs this")

import pyarrow
import zstandard
from apache_beam.io.filesystem import CompressionTypes
from pyarrow import parquet

from nmt.bulk import formats, listing, pipeline, running
from nmt.bulk.shards import Shard, Source, plan_shards, read_rows, text_columns
from nmt.errors import NmtError

PACKS = {
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
LINES = [f"{number} ba be".encode() for number in range(1, 5001)]
FIRST, SECOND = b"\n".join(LINES[:2000]) + b"\n", b"\n".join(LINES[2000:])


def planned(path: Path) -> list[bytes | None]:
    shards = plan_shards(Source(str(path), "out", ".txt"), 1000)
    return [line for shard in shards for line in shard.read()]


def write_table(path: Path, values: list[bytes | None], kind: pyarrow.DataType) -> None:
    """A Parquet file with a column of strings whose bytes are not checked."""
    binary = pyarrow.large_binary() if kind == pyarrow.large_string() else pyarrow.binary()
    column = pyarrow.array(values, binary).view(kind)
    parquet.write_table(pyarrow.table({"en": column}), path, row_group_size=2)


@pytest.mark.parametrize("ending", PACKS)
def test_all_parts_of_a_compressed_file_are_read(ending, tmp_path):
    """A .gz file may consist of several members, a .zst file of several frames; zeros may fill the end of a tape."""
    path = tmp_path / f"source{ending}"
    path.write_bytes(PACKS[ending](FIRST) + PACKS[ending](SECOND) + bytes(512))
    assert planned(path) == LINES


@pytest.mark.parametrize("ending", PACKS)
@pytest.mark.parametrize("part", ["only", "second"])
@pytest.mark.parametrize("missing", ["last byte", "half", "all but a byte"])
def test_a_source_that_is_cut_off_is_refused(ending, part, missing, tmp_path):
    path = tmp_path / f"source{ending}"
    whole, packed = PACKS[ending](FIRST) if part == "second" else b"", PACKS[ending](SECOND)
    path.write_bytes(whole + packed[: {"last byte": -1, "half": len(packed) // 2, "all but a byte": 1}[missing]])
    with pytest.raises(NmtError, match=rf"^\S*source{ending}: is cut off or damaged, or not a \w+ file: fetch it"):
        planned(path)


@pytest.mark.parametrize("ending", PACKS)
def test_a_damaged_or_misnamed_source_is_refused(ending, tmp_path):
    path = tmp_path / f"source{ending}"
    zeros = bytes(512) if ending != ".xz" else b"\0"  # 13 zeros are an empty file in the format before xz
    for content in (b"ba be bi bo bu ka ke\n" * 3, b"", zeros):
        path.write_bytes(content)
        with pytest.raises(NmtError, match="is cut off or damaged, or not a"):
            planned(path)
    damaged = bytearray(PACKS[ending](FIRST))
    damaged[len(damaged) // 2] ^= 0x55  # the checksum at the end is wrong, if nothing else
    path.write_bytes(damaged)
    with pytest.raises(NmtError, match="is cut off or damaged, or not a"):
        planned(path)


def test_a_damaged_parquet_file_is_refused(tmp_path):
    path = tmp_path / "source.parquet"
    path.write_text("ba be\n")
    message = r"^\S*source.parquet: is damaged, or not a Parquet file \(.*\): fetch it again, or rename it$"
    with pytest.raises(NmtError, match=message):
        text_columns(str(path))
    write_table(path, [b"ba be bi " * 9] * 4, pyarrow.string())
    content = bytearray(path.read_bytes())
    content[4:40] = b"\xff" * 36  # the header of the first page
    path.write_bytes(content)
    with pytest.raises(NmtError, match=message):
        read_rows(Source(str(path), "out", ".parquet", "en"), 0, 4)


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string()])
def test_invalid_utf8_in_a_parquet_file_is_a_bad_line(kind, tmp_path):
    path = tmp_path / "source.parquet"
    write_table(path, [b"ba", b"b\xff", None, b"be"], kind)
    shard = Shard(Source(str(path), "out", ".parquet", "en"), 0, 1, 4)
    lines, bad = pipeline._checked(shard, longest=100)
    assert lines == ["ba", "", "", "be"]
    assert [(one.line, one.reason) for one in bad] == [
        (2, "is not valid UTF-8 from its byte 2 on"),
        (3, "has no value"),
    ]


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".parquet"])
def test_a_translation_with_line_breaks_is_one_line(suffix, tmp_path):
    translations = ["ba\n\nbe", "bi\r\nbo", "bu\rka\n", "ke\u2028ki"]
    source = Source("source.parquet", str(tmp_path), suffix, "en")
    formats.write_shard(Shard(source, 0, 1, 4), translations, [])
    path = tmp_path / f"000000{suffix}"
    if suffix == ".parquet":
        assert parquet.read_table(path)["translation"].to_pylist() == translations
        return
    content = gzip.decompress(path.read_bytes()) if suffix.endswith(".gz") else path.read_bytes()
    assert content.decode() == "ba  be\nbi bo\nbu ka\nke\u2028ki\n"


def paths(patterns: list[Path], output: Path) -> list[str]:
    return [source.path for source in running.match_sources([*map(str, patterns)], str(output), "auto", None)]


def test_a_name_that_exists_stands_for_itself(tmp_path):
    names = [tmp_path / name for name in ("x1.txt", "x[1].txt", "y*.txt", "yz.txt")]
    for name in names:
        name.write_text("ba\n")
    assert paths([tmp_path / "x[1].txt"], tmp_path / "out") == [str(names[1])]
    assert paths([tmp_path / "y*.txt"], tmp_path / "out") == [str(names[2])]
    assert paths([tmp_path / "x*.txt"], tmp_path / "out") == [str(names[0]), str(names[1])]
    assert paths([tmp_path / "[x]?.txt"], tmp_path / "out") == [str(names[0])]


def test_a_directory_is_no_source(tmp_path):
    (tmp_path / "corpus").mkdir()
    with pytest.raises(
        NmtError, match=r"corpus: is a directory, expected a file: name its files, such as '.*corpus/\*'"
    ):
        paths([tmp_path / "corpus"], tmp_path / "out")


def test_an_output_with_marks_of_patterns_keeps_its_shards(tmp_path):
    """The job is recognized, its shards and bad lines are found, and half-written files are removed."""
    path, output = tmp_path / "x[1].txt", tmp_path / "out[v2]*?"
    path.write_text("ba\nbe\n")
    (source,) = running.match_sources([str(path)], str(output), "auto", None)
    work = pipeline.Work(("model",), {}, {}, longest=100, shard_lines=1)
    for _ in range(2):
        running._require_same_job(work, "fingerprint", [source], str(output))
    assert len(list(pipeline.PlanShards(1).process(source))) == 2
    for shard in plan_shards(source, 1):
        formats.write_shard(shard, ["ka"], [formats.BadLine(source.path, 1, "reason", "")])
    (Path(source.folder) / "000000.txt.1234.part").touch()
    (Path(source.folder) / "deeper").mkdir()
    (Path(source.folder) / "deeper" / "000007.txt").touch()
    assert pipeline.finished_shards(source) == {source.shard_path(0), source.shard_path(1)}
    assert running._count_bad_lines(source) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert running._require_all([source]) == (2, 2)
    assert not [*output.rglob("*.part")]
    path.write_text("ba\nbe\nbi\n")
    changed = running.match_sources([str(path)], str(output), "auto", None)
    with pytest.raises(NmtError, match="holds the shards of another job"):
        running._require_same_job(work, "fingerprint", changed, str(output))


def test_files_of_a_store_without_directories_are_found_and_deleted(monkeypatch):
    """Such stores list every name with a prefix."""

    class Bucket:
        def has_dirs(self) -> bool:
            return False

        def _list(self, prefix: str) -> list[listing.FileMetadata]:
            names = ["x://b/out[1]/a.txt", "x://b/out[1]/deeper/b.txt", "x://b/out[1]/plan.json", "x://b/out[1]0/c.txt"]
            return [listing.FileMetadata(name, 1, 2.0) for name in names if name.startswith(prefix)]

        def delete(self, patterns: list[str]) -> None:
            deleted.extend(patterns)

    deleted: list[str] = []
    monkeypatch.setattr(listing.FileSystems, "get_filesystem", lambda path: Bucket())
    files = listing.files_in("x://b/out[1]/", ".txt")
    assert [file.path for file in files] == ["x://b/out[1]/a.txt"]
    listing.delete_files(files)
    assert deleted == ["x://b/out?1]/a.txt"]  # Beam deletes the files that match


def test_every_compression_of_beam_is_known():
    from nmt.bulk.unpacking import _DECOMPRESSORS

    endings = (".bz2", ".deflate", ".gz", ".zst", ".zstd", ".xz", ".lzma")
    assert {CompressionTypes.detect_compression_type(f"a{ending}") for ending in endings} == set(_DECOMPRESSORS)
