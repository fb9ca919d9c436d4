"""Shards: consecutive lines of a source file that are translated and written together."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from nmt.bulk.unpacking import is_packed, text_blocks
from nmt.errors import NmtError
from nmt.files.reading import one_line

PARQUET = ".parquet"
BAD_LINES = ".bad.jsonl"
"""Ending of the names of the files that list the lines which cannot be translated."""
_OTHER_ENCODINGS = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE


class Source(NamedTuple):
    """A file to translate."""

    path: str
    folder: str
    """The directory of its shards in the output."""
    suffix: str
    """The ending of the names of its shards, which is their format: see `formats.SUFFIXES`."""
    column: str = ""
    """The column of a Parquet file."""
    size: int = 0
    """Bytes of the file."""
    changed: float = 0.0
    """When the file was last changed, in seconds since 1970; 0 where the file system does not know."""

    @property
    def is_parquet(self) -> bool:
        return self.path.endswith(PARQUET)

    def shard_path(self, number: int) -> str:
        """The path of a finished shard."""
        return FileSystems.join(self.folder, f"{number:06d}{self.suffix}")

    def bad_lines_path(self, number: int) -> str:
        """The path of the bad lines of a shard, if it has any."""
        return FileSystems.join(self.folder, f"{number:06d}{BAD_LINES}")


class Shard(NamedTuple):
    """Some lines of a source."""

    source: Source
    number: int
    """From 0."""
    first: int
    """The number of the first line in the file, from 1."""
    lines: int
    start: int = 0
    """Where the lines begin: a byte of a plain text."""
    size: int = 0
    """Bytes of the lines of a plain text."""
    content: bytes | None = None
    """The lines of a compressed text, which cannot be read from its middle; None: they are read from the file."""

    @property
    def path(self) -> str:
        """The path of the finished shard."""
        return self.source.shard_path(self.number)

    def read(self) -> list[bytes | None]:
        """The lines, without their ends; None is a missing value of a Parquet file.

        Raises:
            NmtError: the file has changed since its shards were planned.
        """
        if self.source.is_parquet:
            return read_rows(self.source, self.first - 1, self.lines)
        content = self.content
        if content is None:
            with FileSystems.open(self.source.path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
                file.seek(self.start)
                content = file.read(self.size)
        if self.first == 1:
            content = content.removeprefix(codecs.BOM_UTF8)
        lines = [line.removesuffix(b"\r") for line in content.removesuffix(b"\n").split(b"\n")]
        if len(lines) != self.lines:
            raise NmtError(f"{self.source.path}: has changed while it was translated: translate it again")
        return list(lines)


def plan_shards(source: Source, shard_lines: int) -> Iterator[Shard]:
    """The shards of a file, in order. The file is read once; of Parquet, only the number of rows.

    Args:
        source: the file.
        shard_lines: lines of a shard; the last one may have fewer.

    Raises:
        NmtError: the file is text of another encoding, cut off or damaged, or not in the format of its name.
    """
    if source.is_parquet:
        rows = count_rows(source.path)
        for number, first in enumerate(range(0, rows, shard_lines)):
            yield Shard(source, number, first + 1, min(shard_lines, rows - first))
        return
    packed, lines = is_packed(source.path), _lines_with_ends(text_blocks(source.path))
    first, start = 1, 0
    for number, chunk in enumerate(iter(lambda: list(islice(lines, shard_lines)), [])):
        if number == 0 and chunk[0].startswith(_OTHER_ENCODINGS):
            raise NmtError(f"{source.path}: is UTF-16 or UTF-32 text, expected UTF-8: convert it with iconv")
        content = b"".join(chunk)
        yield Shard(source, number, first, len(chunk), start, len(content), content if packed else None)
        first, start = first + len(chunk), start + len(content)


def _lines_with_ends(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a text; the last one may lack its end."""
    waiting: list[bytes] = []  # parts of a line that is longer than a block
    for block in blocks:
        *lines, rest = block.split(b"\n")
        for line in lines:
            yield b"".join((*waiting, line, b"\n"))
            waiting = []
        if rest:
            waiting.append(rest)
    if waiting:
        yield b"".join(waiting)


def count_rows(path: str) -> int:
    """The rows of a Parquet file."""
    with _parquet(path) as file:
        return int(file.metadata.num_rows)


def read_rows(source: Source, first: int, count: int) -> list[bytes | None]:
    """Some values of the column, as UTF-8; only the row groups that hold them are read.

    Args:
        source: a Parquet file.
        first: the first row, from 0.
        count: number of rows.
    """
    import pyarrow

    with _parquet(source.path) as file:
        found: list[bytes | None] = []
        before = 0
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            skipped = max(0, first - before)
            if skipped < rows and before < first + count:
                column = file.read_row_group(group, [source.column]).column(0)
                values = column.slice(skipped, first + count - max(first, before))
                found += values.cast(pyarrow.large_binary()).to_pylist()  # strings would have to be valid UTF-8
            before += rows
    return found


def text_columns(path: str) -> list[str]:
    """The names of the columns with text of a Parquet file."""
    import pyarrow

    with _parquet(path) as file:
        schema = file.schema_arrow
    kinds: Iterable[object] = (pyarrow.string(), pyarrow.large_string())
    return [field.name for field in schema if field.type in kinds]


@contextmanager
def _parquet(path: str) -> Iterator[Any]:
    """A Parquet file, opened.

    Raises:
        NmtError: the file is damaged, or of another format; also when it is read within the block.
    """
    import pyarrow
    from pyarrow import parquet

    with FileSystems.open(path) as file:
        try:
            yield parquet.ParquetFile(file)
        except (pyarrow.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # of the disk
                raise
            problem = f"is damaged, or not a Parquet file ({one_line(error)})"
            raise NmtError(f"{path}: {problem}: fetch it again, or rename it") from None
