"""The formats of sentence pairs: line-parallel files, TSV, documents, Parquet, TensorFlow datasets.

Rows are still bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple, NoReturn

from nmt.config import PairsConfig
from nmt.progress import counted
from nmt.text.datasets import dataset_rows
from nmt.text.documents import document_kind, file_of_kind, read_pairs
from nmt.text.errors import CorpusError
from nmt.text.languages import UNKNOWN, Languages
from nmt.text.lines import decoded, raw_lines, shown_name
from nmt.text.parquet import parquet_rows

MALFORMED_CHECKED = 1000
"""Malformed rows between two checks that they are fewer than the others: a wrong column is found before the end."""


@dataclass(frozen=True, slots=True)
class MalformedRow:
    """A row that is not a pair."""

    problem: str
    """What is wrong and what was expected, in words that follow the place."""
    placed: bool = False
    """Whether `problem` begins with the place already."""


class RowStream(NamedTuple):
    """A stream of rows with one or two columns of bytes."""

    name: str
    """The file or dataset."""
    rows: Iterator[tuple[bytes, ...] | MalformedRow]
    width: int = 1
    """Columns of each row."""
    unit: str = "line"
    """The name of a row in messages."""
    current_line: Callable[[], int] | None = None
    """The line of the row that was read last, in files whose rows are not lines."""
    before: int = 0
    """Rows of the file before the first one of `rows`."""

    def place(self, number: int) -> str:
        """The place of the row that was read last, such as "FILE, line 3"; rows are counted from 1."""
        if self.current_line:
            return f"{shown_name(self.name)}, line {self.current_line()}"
        return f"{shown_name(self.name)}, {self.unit} {self.before + number}"


def open_pairs(pairs: PairsConfig, links: str, languages: Languages = UNKNOWN) -> list[RowStream]:
    """The streams of a corpus: the pairs in one stream or two, then alignment and links if their files are named.

    Args:
        pairs: the files or the dataset.
        links: file of word links; empty: none.
        languages: choose among the languages of a document.
    """
    if pairs.tfds:
        streams = [RowStream(f"{pairs.tfds} {pairs.split}", dataset_rows(pairs), 2, "example")]
    elif pairs.tsv:
        streams = [RowStream(pairs.tsv, _tsv_rows(pairs.tsv, pairs.source_column, pairs.target_column), 2)]
    elif pairs.parquet:
        streams = [RowStream(pairs.parquet, parquet_rows(pairs), 2, "row")]
    elif pairs.document:
        rows = _DocumentRows(pairs.document, languages)
        streams = [RowStream(pairs.document, iter(rows), 2, "unit", lambda: rows.line)]
    else:
        streams = [_lines(pairs.source), _lines(pairs.target)]
    return streams + [_lines(path) for path in (pairs.alignment, links) if path]


def raw_rows(pairs: PairsConfig, languages: Languages = UNKNOWN) -> Iterator[tuple[bytes, bytes] | MalformedRow]:
    """The rows of a corpus: pairs as bytes, without line ends, and at their places the rows that are no pairs.

    Raises:
        CorpusError: a file cannot be read, or the files have different numbers of lines. The numbers are compared when
            the shorter file ends. Also text with more malformed rows than pairs.
    """
    if pairs.source == pairs.target == "-":
        raise CorpusError("standard input (-) is given more than once: put all but one into files")
    read, malformed, first = 0, 0, ""
    for read, row in enumerate(joined_rows(open_pairs(pairs, "", languages)), start=1):
        if isinstance(row, MalformedRow):
            malformed, first = malformed + 1, first or row.problem
            if malformed % MALFORMED_CHECKED == 0:
                require_more_pairs(malformed, read, first)
            yield row
        else:
            yield row[0], row[1]
    require_more_pairs(malformed, read, first)


def require_more_pairs(malformed: int, read: int, example: str) -> None:
    """Refuses text that is not in the format that its name or the settings promise.

    Raises:
        CorpusError: more malformed rows than pairs; the message is the example's and has the numbers.
    """
    if malformed > read / 2:
        raise CorpusError(f"{example} ({malformed} of {read} rows are malformed)")


def line_pairs(pairs: PairsConfig, languages: Languages = UNKNOWN) -> Iterator[tuple[str, str]]:
    """The pairs of a corpus, one for each row: a row that is no pair or invalid UTF-8 gives two empty sentences.

    Raises:
        CorpusError: see `raw_pairs`.
    """
    malformed: list[str] = []
    for cells in side_by_side(open_pairs(pairs, "", languages), malformed.append):
        yield from (("", "") for _ in malformed)
        malformed.clear()
        try:
            yield cells[0].decode("utf-8"), cells[1].decode("utf-8")
        except UnicodeDecodeError:
            yield "", ""
    yield from (("", "") for _ in malformed)


def text_pairs(pairs: PairsConfig, languages: Languages = UNKNOWN) -> Iterator[tuple[str, str]]:
    """The pairs of a corpus as they are: with outer whitespace, and with pairs that have an empty side.

    Raises:
        CorpusError: a file cannot be read, the files have different numbers of lines, a row is no pair, or text is not
            valid UTF-8.
    """
    streams = open_pairs(pairs, "", languages)
    columns = [stream for stream in streams for _ in range(stream.width)]
    for number, cells in enumerate(side_by_side(streams), 1):
        source, target = (decoded(cell, stream.place(number)) for cell, stream in zip(cells, columns, strict=True))
        yield source, target


def refuse_malformed(message: str) -> NoReturn:
    """Stops at a malformed row: each line of a result belongs to a line of the text.

    Raises:
        CorpusError: the message, which names the place.
    """
    raise CorpusError(f"{message} (nmt clean leaves such rows out)")


def side_by_side(
    streams: list[RowStream], malformed: Callable[[str], None] = refuse_malformed
) -> Iterator[tuple[bytes, ...]]:
    """The rows of all streams joined to one row.

    Args:
        streams: read in step.
        malformed: takes the message about each malformed row, which is left out with its neighbours.

    Raises:
        CorpusError: the streams have different numbers of rows; the message has all numbers.
    """
    for row in joined_rows(streams):
        if isinstance(row, MalformedRow):
            malformed(row.problem)
        else:
            yield row


def joined_rows(streams: list[RowStream]) -> Iterator[tuple[bytes, ...] | MalformedRow]:
    """The rows of all streams joined to one row; a malformed row takes its neighbours with it, and has its place."""
    together = zip_longest(*(stream.rows for stream in streams))
    for number, rows in enumerate(together):
        if None in rows:
            counts = [number + (row is not None) for row in rows]
            for later in together:
                counts = [count + (row is not None) for count, row in zip(counts, later, strict=True)]
            sizes = [f"{s.name} has {counted(count, s.unit)}" for s, count in zip(streams, counts, strict=True)]
            raise CorpusError(f"{', '.join(sizes)}: the same number in each was expected, one for each pair")
        problems = [
            row.problem if row.placed else f"{stream.place(number + 1)}: {row.problem}"
            for stream, row in zip(streams, rows, strict=True)
            if isinstance(row, MalformedRow)
        ]
        if problems:
            yield MalformedRow(problems[0], placed=True)
        else:
            yield tuple(cell for row in rows for cell in row)  # type: ignore[union-attr]


class _DocumentRows:
    """The rows of a document, and the line of the current row."""

    def __init__(self, path: str, languages: Languages) -> None:
        self.line = 0
        self._rows = read_pairs(path, languages)

    def __iter__(self) -> Iterator[tuple[bytes, bytes] | MalformedRow]:
        for row in self._rows:
            self.line = row.line
            yield MalformedRow(row.problem) if row.problem else row.cells


def _lines(path: str) -> RowStream:
    """The lines of one side.

    Raises:
        CorpusError: a document, whose lines are not sentences.
    """
    kind = document_kind(path)
    if kind == "SRT":
        raise CorpusError(
            f"{path}: is {file_of_kind(kind)}, expected one sentence per line: write the text of its subtitles, and of "
            "their translations, line by line into two files"
        )
    if kind:
        where = "the document (nmt train: --corpus.train.document; other commands: --document)"
        raise CorpusError(f"{path}: {file_of_kind(kind)} has both sides: give it as {where}")
    return RowStream(path, zip(raw_lines(path)))


def _tsv_rows(path: str, source: int, target: int) -> Iterator[tuple[bytes, bytes] | MalformedRow]:
    """Two columns of a TSV file, counted from 1. Quotes are ordinary characters; a blank line is an empty pair."""
    needed = max(source, target)
    for line in raw_lines(path):
        cells = line.split(b"\t") if line.strip() else [b""] * needed
        if len(cells) < needed:
            is_csv = len(cells) == 1 and (b"," in line or b";" in line)
            remedy = (
                "if this is CSV, save it as text with tabs"
                if is_csv
                else "check which column is the source and which the target"
            )
            yield MalformedRow(
                f"{counted(len(cells), 'column')}, expected at least {needed} separated by tabs; {remedy}"
            )
        else:
            yield cells[source - 1], cells[target - 1]
