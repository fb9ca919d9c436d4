"""Sentence pairs as rows of bytes: two files, a TSV file or a TensorFlow dataset."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from nmt.config import PairsConfig
from nmt.text.datasets import dataset_rows
from nmt.text.errors import CorpusError
from nmt.text.lines import raw_lines, shown_name


class RowStream(NamedTuple):
    """Rows of one or two columns, still as bytes."""

    name: str
    rows: Iterator[tuple[bytes, ...]]
    width: int = 1
    unit: str = "line"

    def place(self, number: int) -> str:
        return f"{shown_name(self.name)}, {self.unit} {number}"


def open_pairs(pairs: PairsConfig, links: str) -> list[RowStream]:
    if pairs.tfds:
        streams = [RowStream(f"{pairs.tfds} {pairs.split}", dataset_rows(pairs), 2, "example")]
    elif pairs.tsv:
        rows = tsv_rows(pairs.tsv, pairs.source_column, pairs.target_column)
        streams = [RowStream(pairs.tsv, rows, 2)]
    else:
        streams = [RowStream(path, zip(raw_lines(path))) for path in (pairs.source, pairs.target)]
    return streams + [RowStream(path, zip(raw_lines(path))) for path in (pairs.alignment, links) if path]


def tsv_rows(path: str, source: int, target: int) -> Iterator[tuple[bytes, bytes]]:
    """Two columns, counted from 1; quotes mean nothing, and a blank line is a pair of empty sentences."""
    needed = max(source, target)
    for number, line in enumerate(raw_lines(path), 1):
        cells = line.split(b"\t") if line.strip() else [b""] * needed
        if len(cells) < needed:
            raise CorpusError(
                f"{path}, line {number}: {len(cells)} column{'s' * (len(cells) > 1)}, expected at least {needed} "
                "separated by tabs; check which column is the source and which the target"
            )
        yield cells[source - 1], cells[target - 1]


def raw_pairs(source: str, target: str) -> Iterator[tuple[bytes, bytes]]:
    """The lines of two files that belong together, still as bytes, without their ends.

    Raises:
        CorpusError: a file cannot be read, or the two differ in lines: told when the shorter one ends.
    """
    if source == target == "-":
        raise CorpusError("standard input (-) is given more than once: put all but one into files")
    for cells in side_by_side([RowStream(path, zip(raw_lines(path))) for path in (source, target)]):
        yield cells[0], cells[1]


def side_by_side(streams: list[RowStream]) -> Iterator[tuple[bytes, ...]]:
    """The rows of all streams side by side; raises `CorpusError` with all counts unless they end together."""
    together = zip_longest(*(stream.rows for stream in streams))
    for number, rows in enumerate(together):
        if None in rows:
            counts = [number + (row is not None) for row in rows]
            for later in together:
                counts = [count + (row is not None) for count, row in zip(counts, later, strict=True)]
            found = ", ".join(f"{s.name} has {count} {s.unit}s" for s, count in zip(streams, counts, strict=True))
            raise CorpusError(f"{found}: the same number in each was expected, one for each pair")
        yield tuple(cell for row in rows for cell in row)
