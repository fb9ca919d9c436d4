"""The rows of a corpus in blocks, which one process reads and other processes check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, islice

from nmt.config import PairsConfig
from nmt.text.formats import MalformedRow, RowStream, joined_rows, open_pairs
from nmt.text.languages import UNKNOWN, Languages


@dataclass
class RowBlock:
    """Consecutive rows of a corpus. The cells lie in one array of bytes, which is quick to send."""

    streams: list[tuple[str, int, str]]
    """Name, columns and unit of each stream that the rows come from."""
    first: int
    """Rows of the corpus before the block."""
    rows: int
    content: bytes
    """The cells of all rows one after the other."""
    sizes: list[int]
    """Bytes of each cell."""
    malformed: dict[int, str] = field(default_factory=dict)
    """What is wrong with rows that are no pairs, with their places."""
    lines: list[int] = field(default_factory=list)
    """Line of each row, in files whose rows are not lines."""

    def open(self) -> list[RowStream]:
        """The streams with the rows of the block."""
        ends = list(accumulate(self.sizes, initial=0))
        columns = sum(width for _, width, _ in self.streams)
        opened, begin = [], 0
        for number, (name, width, unit) in enumerate(self.streams):
            reading = _Reading(self, ends, columns, range(begin, begin + width), number == 0)
            line = reading.line if self.lines and number == 0 else None
            opened.append(RowStream(name, iter(reading), width, unit, line, self.first))
            begin += width
        return opened


class _Reading:
    """One reading of some columns of a block."""

    def __init__(self, block: RowBlock, ends: list[int], columns: int, own: range, reports: bool) -> None:
        self._block, self._ends, self._columns, self._own, self._reports = block, ends, columns, own, reports
        self._row = 0

    def line(self) -> int:
        """The line of the row that was read last."""
        return self._block.lines[self._row]

    def __iter__(self) -> Iterator[tuple[bytes, ...] | MalformedRow]:
        content, ends = self._block.content, self._ends
        for row in range(self._block.rows):
            self._row = row
            problem = self._block.malformed.get(row)
            if problem is not None and self._reports:
                yield MalformedRow(problem, placed=True)
                continue
            first = row * self._columns
            yield tuple(content[ends[first + column] : ends[first + column + 1]] for column in self._own)


def row_blocks(pairs: PairsConfig, size: int, languages: Languages = UNKNOWN) -> Iterator[RowBlock]:
    """The rows of a corpus in blocks of `size` rows; the last one may be shorter, and a corpus without rows has none.

    Raises:
        CorpusError: a file cannot be read, or the files have different numbers of rows.
    """
    streams = open_pairs(pairs, "", languages)
    kinds = [(stream.name, stream.width, stream.unit) for stream in streams]
    columns, current_line = sum(stream.width for stream in streams), streams[0].current_line
    rows, first = joined_rows(streams), 0
    while True:
        cells: list[bytes] = []
        block = RowBlock(kinds, first, 0, b"", [])
        for row in islice(rows, size):
            if isinstance(row, MalformedRow):
                block.malformed[block.rows] = row.problem
                cells += [b""] * columns
            else:
                cells += row
            if current_line:
                block.lines.append(current_line())
            block.rows += 1
        if not block.rows:
            return
        block.content, block.sizes = b"".join(cells), list(map(len, cells))
        first += block.rows
        yield block
