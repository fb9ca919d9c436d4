"""Where sentence pairs come from: two line-parallel files, a TSV file or a TensorFlow dataset, checked as they stream.

Only "\\n" and "\\r\\n" end a line, so that no character within a sentence can shift the sides against each other.
Sentences lose outer whitespace and a byte order mark at the start of a file, and are otherwise left as they are.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, NamedTuple

from nmt.alignment.links import parse_pharaoh, require_in_range
from nmt.config import CorpusConfig, PairsConfig, to_dict
from nmt.files.digests import digest
from nmt.files.paths import is_stream
from nmt.text.datasets import dataset_digests, dataset_rows
from nmt.text.errors import CorpusError

_FILES = ("source", "target", "tsv", "alignment")
"""Fields of `PairsConfig` that name a file."""

_EXAMPLES_SHOWN = 3
_ONCE = "{} can be read only once, the pairs are needed again: use files"


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str
    alignment: str | None = None
    """Gold word alignment in Pharaoh format, where there is a file of them."""
    links: str | None = None
    """Word links that attention is trained with, in Pharaoh format, where there is a file of them."""


@dataclass
class CorpusReport:
    """What one reading of the pairs came to: `read` = `kept` + `empty` + `invalid`."""

    read: int = 0
    kept: int = 0
    empty: int = 0
    """Pairs dropped because a side was empty."""
    invalid: int = 0
    """Pairs dropped because of invalid UTF-8."""
    examples: list[str] = field(default_factory=list)
    """File and line of the first few invalid pairs."""

    def summary(self) -> str:
        """One line for the user."""
        dropped = [f"{self.empty} with an empty side"] * bool(self.empty)
        if self.invalid:
            dropped.append(f"{self.invalid} not valid UTF-8 ({'; '.join(self.examples)}{', ...' * self._more()})")
        return f"{self.read} pairs read, {self.kept} kept" + f"; dropped: {', '.join(dropped)}" * bool(dropped)

    def _more(self) -> bool:
        return self.invalid > len(self.examples)


class PairReader:
    """The pairs that `pairs` names; each iteration reads them from the start, one at a time.

    Iterating raises `CorpusError` when something cannot be read. Unequal line counts show at the end of the shorter
    file: nothing read before belongs to another line.

    Args:
        pairs: where the pairs are.
        corpus: what to do with invalid and empty ones; a pair that is dropped takes its alignment along.
        links: file of the pairs' word links in Pharaoh format, line by line; empty: none. Iterating raises
            `AlignmentError` at the first that is no link, or names a word that its pair does not have.

    Raises:
        CorpusError: `pairs` names nothing, or standard input more than once.
    """

    def __init__(self, pairs: PairsConfig, corpus: CorpusConfig | None = None, links: str = "") -> None:
        if not pairs:
            raise CorpusError(
                "no sentence pairs are given: set source and target (--corpus.train.source FILE and "
                "--corpus.train.target FILE), or tsv, or tfds"
            )
        self.report = CorpusReport()
        """Of the last complete iteration."""
        self._pairs = pairs
        self._corpus = corpus or CorpusConfig()
        self._links = links
        files = [path for path in (*(getattr(pairs, field) for field in _FILES), links) if path]
        self._once = [path for path in files if path == "-" or is_stream(Path(path))]
        """What can be read only once."""
        self._started = False
        if files.count("-") > 1:
            raise CorpusError("standard input (-) is given more than once: put all but one into files")

    def __iter__(self) -> Iterator[Pair]:
        if self._once and self._started:
            raise CorpusError(_ONCE.format(_name(self._once[0])))
        self._started = True
        report = CorpusReport()
        streams = _streams(self._pairs, self._links)
        columns = [stream for stream in streams for _ in range(stream.width)]
        for cells in _in_step(streams):
            report.read += 1
            pair = self._checked(cells, columns, report)
            if pair is not None:
                report.kept += 1
                yield pair
        self.report = report

    def fingerprint(self) -> dict[str, Any]:
        """What the pairs depend on: their settings, with the SHA-256 of its bytes in place of each file's name.

        A TensorFlow dataset is downloaded and prepared first where it is not on disk; the bytes are those of its files.

        Raises:
            CorpusError: something cannot be read, or only once.
        """
        if self._once:
            raise CorpusError(_ONCE.format(_name(self._once[0])))
        settings = to_dict(self._pairs)
        settings |= {field: _digest(settings[field]) for field in _FILES if settings[field]}
        if self._links:
            settings["links"] = _digest(self._links)
        if self._pairs.tfds:
            settings |= {"tfds_directory": "", "tfds_files": dataset_digests(self._pairs)}
        return settings

    def _checked(self, cells: tuple[bytes, ...], columns: list[_Stream], report: CorpusReport) -> Pair | None:
        """The pair, or None where it is dropped and counted."""
        try:
            texts = [_decode(cell, c, report.read).strip() for cell, c in zip(cells, columns, strict=True)]
        except _InvalidText as error:
            if self._corpus.on_invalid == "stop":
                raise CorpusError(
                    f"{error}: convert it to UTF-8 (nmt clean and nmt train --corpus.on_invalid drop leave such "
                    "lines out)"
                ) from None
            report.invalid += 1
            if len(report.examples) < _EXAMPLES_SHOWN:
                report.examples.append(error.place)
            return None
        alignment = texts[2] if self._pairs.alignment else None
        pair = Pair(texts[0], texts[1], alignment, texts[-1] if self._links else None)
        if pair.source and pair.target:
            if pair.alignment is not None:
                _check_links(pair, pair.alignment, columns[2].place(report.read))
            if pair.links is not None:
                _check_links(pair, pair.links, columns[-1].place(report.read))
            return pair
        if self._corpus.on_empty == "stop":
            where = columns[bool(pair.source)].place(report.read)
            raise CorpusError(f"{where}: no sentence: remove the pair, or set corpus.on_empty to drop")
        report.empty += 1
        return None


def _check_links(pair: Pair, links: str, where: str) -> None:
    require_in_range(parse_pharaoh(links, where), pair.source.split(), pair.target.split(), where)


def read_lines(path: str) -> Iterator[str]:
    """The lines of a text file, of a .gz file or of standard input (-), without their ends; a blank one is "".

    Raises:
        CorpusError: the file cannot be read, or a line is not valid UTF-8.
    """
    stream = _Stream(path, zip(_raw_lines(path)))
    for number, (line,) in enumerate(stream.rows, 1):
        try:
            yield _decode(line, stream, number)
        except _InvalidText as error:
            raise CorpusError(f"{error}: convert it to UTF-8") from None


def raw_pairs(source: str, target: str) -> Iterator[tuple[bytes, bytes]]:
    """The lines of two files that belong together, still as bytes, without their ends.

    Raises:
        CorpusError: a file cannot be read, or the two differ in lines: told when the shorter one ends.
    """
    if source == target == "-":
        raise CorpusError("standard input (-) is given more than once: put all but one into files")
    for cells in _in_step([_Stream(path, zip(_raw_lines(path))) for path in (source, target)]):
        yield cells[0], cells[1]


class _InvalidText(Exception):
    def __init__(self, place: str, byte: int) -> None:
        super().__init__(f"{place}: not valid UTF-8 from byte {byte} of it on")
        self.place = place


class _Stream(NamedTuple):
    """Rows of one or two columns, still as bytes."""

    name: str
    rows: Iterator[tuple[bytes, ...]]
    width: int = 1
    unit: str = "line"

    def place(self, number: int) -> str:
        return f"{_name(self.name)}, {self.unit} {number}"


def _name(path: str) -> str:
    return "standard input" if path == "-" else path


def _streams(pairs: PairsConfig, links: str) -> list[_Stream]:
    if pairs.tfds:
        streams = [_Stream(f"{pairs.tfds} {pairs.split}", dataset_rows(pairs), 2, "example")]
    elif pairs.tsv:
        rows = _tsv_rows(pairs.tsv, pairs.source_column, pairs.target_column)
        streams = [_Stream(pairs.tsv, rows, 2)]
    else:
        streams = [_Stream(path, zip(_raw_lines(path))) for path in (pairs.source, pairs.target)]
    return streams + [_Stream(path, zip(_raw_lines(path))) for path in (pairs.alignment, links) if path]


def _in_step(streams: list[_Stream]) -> Iterator[tuple[bytes, ...]]:
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


def _decode(cell: bytes, stream: _Stream, number: int) -> str:
    try:
        return cell.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _InvalidText(stream.place(number), error.start + 1) from None


def _raw_lines(path: str) -> Iterator[bytes]:
    number = 0
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, 1):
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                yield line.removesuffix(b"\n").removesuffix(b"\r")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        with open(path, "rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
        if not compressed:
            raise CorpusError(f"{path}: is not compressed, whatever its name says: take .gz off its name") from None
        raise CorpusError(f"{path}: cut off or damaged after line {number} ({error}): fetch it again") from None
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}: expected a text file") from None


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return digest(file)
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}: expected a text file") from None


def _opened(path: str) -> contextlib.AbstractContextManager[IO[bytes] | gzip.GzipFile]:
    if path == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    return gzip.open(path) if path.endswith(".gz") else open(path, "rb")


def _tsv_rows(path: str, source: int, target: int) -> Iterator[tuple[bytes, bytes]]:
    """Two columns, counted from 1; quotes mean nothing, and a blank line is a pair of empty sentences."""
    needed = max(source, target)
    for number, line in enumerate(_raw_lines(path), 1):
        cells = line.split(b"\t") if line.strip() else [b""] * needed
        if len(cells) < needed:
            raise CorpusError(
                f"{path}, line {number}: {len(cells)} column{'s' * (len(cells) > 1)}, expected at least {needed} "
                "separated by tabs; check which column is the source and which the target"
            )
        yield cells[source - 1], cells[target - 1]
