"""Shards hold the lines of their source, in order, whatever its format."""

from __future__ import annotations

import gzip

import pytest

pytest.importorskip("apache_beam", reason="bash scripts/beam.sh makes an environment with Apache Beam and runs this")

import pyarrow
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from nmt.bulk.shards import Source, plan_shards, text_columns
from nmt.errors import NmtError

LINES = st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), max_size=9), max_size=20)


@given(lines=LINES, shard_lines=st.integers(1, 7), ending=st.sampled_from(["", ".gz", ".zst"]), ended=st.booleans())
def test_the_shards_of_a_text_are_the_text(lines, shard_lines, ending, ended, tmp_path_factory):
    """Also where the last line has no end, and behind a byte order mark."""
    content = "\r\n".join(lines).encode() + (b"\n" if ended else b"")
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}[ending]
    path = tmp_path_factory.mktemp("text") / f"source{ending}"
    path.write_bytes(pack(b"\xef\xbb\xbf" + content))
    shards = list(plan_shards(Source(str(path), "out", ".txt"), shard_lines))
    found = [line for shard in shards for line in shard.read()]
    expected = content.removesuffix(b"\n").split(b"\n") if content.removeprefix(b"\xef\xbb\xbf") else [b""]
    assert found == [line.removesuffix(b"\r") for line in expected]
    assert [shard.first for shard in shards] == [1 + n * shard_lines for n in range(len(shards))]
    assert all(shard.lines == shard_lines for shard in shards[:-1])


@given(
    values=st.lists(st.none() | st.text(max_size=5), max_size=20),
    rows=st.integers(1, 6),
    shard_lines=st.integers(1, 7),
)
def test_the_shards_of_a_parquet_file_are_its_column(values, rows, shard_lines, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("table") / "table.parquet")
    table = pyarrow.table({"number": range(len(values)), "en": pyarrow.array(values, pyarrow.string())})
    parquet.write_table(table, path, row_group_size=rows)
    assert text_columns(path) == ["en"]
    shards = plan_shards(Source(path, "out", ".txt", "en"), shard_lines)
    assert [line for shard in shards for line in shard.read()] == [v if v is None else v.encode() for v in values]


def test_a_changed_or_unreadable_source_is_refused(tmp_path):
    path = tmp_path / "source"
    path.write_text("one\ntwo\n")
    (shard,) = plan_shards(Source(str(path), "out", ".txt"), 5)
    path.write_text("onetwoo\n\n")
    with pytest.raises(NmtError, match="source: has changed while it was translated"):
        shard.read()
    path.write_text("one\n", "utf-16")
    with pytest.raises(NmtError, match="is UTF-16 or UTF-32 text, expected UTF-8"):
        list(plan_shards(Source(str(path), "out", ".txt"), 5))
