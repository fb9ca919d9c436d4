"""The files of finished shards. They appear under their names when they are complete."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from typing import IO, NamedTuple

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from nmt.bulk.shards import PARQUET, Shard
from nmt.text.lines import without_line_breaks

SUFFIXES = {"text": ".txt", "gz": ".txt.gz", "zst": ".txt.zst", "parquet": PARQUET}
"""The endings of shards by their format."""


class BadLine(NamedTuple):
    """A line that is not translated; its translation is empty."""

    path: str
    line: int
    """Its number in the file, from 1."""
    reason: str
    text: str
    """Its beginning; invalid UTF-8 is escaped."""


def suffix_of(path: str, format: str) -> str:
    """The ending of the shards of a source.

    Args:
        path: of the source.
        format: one of `SUFFIXES`, or `auto`: the format of the source.
    """
    if format != "auto":
        return SUFFIXES[format]
    endings = {".gz": "gz", ".zst": "zst", ".zstd": "zst", PARQUET: "parquet"}
    return SUFFIXES[next((kind for ending, kind in endings.items() if path.endswith(ending)), "text")]


def write_shard(shard: Shard, translations: Sequence[str], bad: Sequence[BadLine]) -> None:
    """Writes the bad lines of a shard, and then its translations: a shard is finished when they are there.

    In a text, a space stands in place of each line break within a translation, so the lines stay in step.
    """
    if bad:
        records = "".join(json.dumps(line._asdict(), ensure_ascii=False) + "\n" for line in bad)
        write_file(shard.source.bad_lines_path(shard.number), lambda file: file.write(records.encode()))
    if shard.source.suffix == PARQUET:
        write_file(shard.path, lambda file: _write_table(file, shard, translations), packs=False)
    else:
        text = b"".join(without_line_breaks(line.encode()) + b"\n" for line in translations)
        write_file(shard.path, lambda file: file.write(text))


def write_file(path: str, write: Callable[[IO[bytes]], object], packs: bool = True) -> None:
    """Writes a file that appears when it is complete.

    Args:
        path: of any file system that Beam knows.
        write: fills the file.
        packs: compress the file if its name says so.
    """
    kind = CompressionTypes.detect_compression_type(path) if packs else CompressionTypes.UNCOMPRESSED
    temporary = f"{path}.{uuid.uuid4().hex}.part"
    with FileSystems.create(temporary, compression_type=kind) as file:
        write(file)
    FileSystems.rename([temporary], [path])


def _write_table(file: IO[bytes], shard: Shard, translations: Sequence[str]) -> None:
    """A Parquet file with the number of each line and its translation."""
    import pyarrow
    from pyarrow import parquet

    numbers = pyarrow.array(range(shard.first, shard.first + shard.lines), pyarrow.int64())
    columns = {"line": numbers, "translation": pyarrow.array(translations, pyarrow.string())}
    parquet.write_table(pyarrow.table(columns), file)
