"""Sentence pairs, checked as they stream. Sentences lose outer whitespace and are otherwise left as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from nmt.alignment.links import require_in_range
from nmt.alignment.pharaoh_and_naacl import parse_pharaoh
from nmt.config import CorpusConfig, PairsConfig, config_to_dict
from nmt.files.paths import can_be_read_again
from nmt.progress import counted
from nmt.text.datasets import dataset_digests
from nmt.text.errors import CorpusError
from nmt.text.formats import MALFORMED_CHECKED, RowStream, open_pairs, require_more_pairs, side_by_side
from nmt.text.languages import languages_of, words_of
from nmt.text.lines import TO_UTF8, digest_text, invalid_utf8, shown_name
from nmt.text.side_lengths import SideLengths, shifted_rows

_FILE_FIELDS = ("source", "target", "tsv", "document", "parquet", "alignment")
"""Fields of `PairsConfig` that name a file."""
_EXAMPLES_SHOWN = 3
"""Invalid pairs that a report names."""


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str
    alignment: str | None = None
    """Gold word alignment in Pharaoh format; None without a file of alignments."""
    links: str | None = None
    """Word links for guided attention in Pharaoh format; None without a file of links."""


@dataclass
class CorpusReport:
    """Counts of one reading of the pairs: `read` = `kept` + `empty` + `invalid` + `malformed`."""

    read: int = 0
    kept: int = 0
    empty: int = 0
    """Pairs dropped because a side is empty."""
    invalid: int = 0
    """Pairs dropped because of invalid UTF-8."""
    examples: list[str] = field(default_factory=list)
    """File and line of the first invalid pairs."""
    malformed: int = 0
    """Rows dropped because they are no pairs."""
    malformed_examples: list[str] = field(default_factory=list)
    """File, line and problem of the first malformed rows."""

    without_letters: list[int] = field(default_factory=lambda: [0, 0])
    """Kept sources and kept targets that have no letter, such as the numbers of rows."""
    lengths_apart: list[list[int]] = field(default_factory=list)
    """Windows of pairs whose sides have unrelated lengths; see `SideLengths.apart`."""
    lengths_others: int = 0
    """Other windows of pairs."""

    @property
    def first_malformed(self) -> str:
        """File, line and problem of the first malformed row; "" without one."""
        return "".join(self.malformed_examples[:1])

    @property
    def shifted(self) -> str:
        """A question about pairs whose sides seem to be no translations of each other; "" without them."""
        return shifted_rows(self.lengths_apart, self.lengths_others, self.read)

    def summary(self) -> str:
        """One line for the user."""
        dropped = [f"{self.empty:,} with an empty side"] * bool(self.empty)
        if self.invalid:
            dropped.append(f"{self.invalid:,} not valid UTF-8 ({_listed(self.examples, self.invalid)})")
        if self.malformed:
            dropped.append(f"{self.malformed:,} malformed ({_listed(self.malformed_examples, self.malformed)})")
        kept = f"{counted(self.read, 'pair')} read, {self.kept:,} kept" + f"; dropped: {', '.join(dropped)}" * bool(
            dropped
        )
        doubts = [
            f"{count:,} {side} have no letters: check the files, and the columns of a TSV file"
            for side, count in zip(("sources", "targets"), self.without_letters, strict=True)
            if count > self.kept / 2
        ]
        return "; ".join([kept, *doubts, *[self.shifted] * bool(self.shifted)])


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


def _listed(examples: list[str], count: int) -> str:
    return "; ".join(examples) + ", ..." * (count > len(examples))


class PairReader:
    """The sentence pairs of a corpus. Each iteration reads them from the start, one at a time.

    Iterating raises `CorpusError` for text that cannot be read, and `AlignmentError` for a malformed link or a link to
    a missing word. Different numbers of lines are found when the shorter file ends; the pairs before are correct.

    Args:
        pairs: the files or the dataset.
        corpus: the treatment of invalid and empty pairs. A pair is dropped with its alignment and links. The languages
            decide on the words that links name.
        links: file of word links in Pharaoh format, line by line; empty: none.

    Raises:
        CorpusError: `pairs` names nothing, or standard input more than once.
    """

    def __init__(self, pairs: PairsConfig, corpus: CorpusConfig | None = None, links: str = "") -> None:
        if not pairs:
            raise CorpusError(
                "no sentence pairs are given: set source and target (--corpus.train.source FILE and "
                "--corpus.train.target FILE), or tsv, or document, or parquet, or tfds"
            )
        self.report = CorpusReport()
        """The report of the last complete iteration."""
        self._pairs = pairs
        self._corpus = corpus or CorpusConfig()
        self._links = links
        self._words = words_of(self._corpus)
        files = [path for path in (*(getattr(pairs, name) for name in _FILE_FIELDS), links) if path]
        if files.count("-") > 1:
            raise CorpusError("standard input (-) is given more than once: put all but one into files")
        self._streams = [path for path in files if not can_be_read_again([path])]
        """Standard input, pipes and devices."""
        self._started = False

    def __iter__(self) -> Iterator[Pair]:
        if self._started:
            self.require_files()
        self._started = True
        report = CorpusReport()
        yield from self.pairs_of(open_pairs(self._pairs, self._links, languages_of(self._corpus)), report)
        require_more_pairs(report.malformed, report.read, report.first_malformed)
        self.report = report

    def pairs_of(self, streams: list[RowStream], report: CorpusReport, whole: bool = True) -> Iterator[Pair]:
        """The pairs of rows in these streams, checked.

        Args:
            report: counts them.
            whole: whether the rows are the whole text, so that too many malformed ones among them are refused.
        """
        columns = [stream for stream in streams for _ in range(stream.width)]
        lengths = SideLengths()
        for cells in side_by_side(streams, partial(self._drop_malformed, report, whole)):
            report.read += 1
            pair = self._read_pair(cells, columns, report)
            if pair is not None:
                report.kept += 1
                report.without_letters[0] += not _has_letter(pair.source)
                report.without_letters[1] += not _has_letter(pair.target)
                lengths.add(report.read, pair.source, pair.target)
                yield pair
        lengths.finish()
        report.lengths_apart, report.lengths_others = lengths.apart, lengths.others

    def fingerprint(self, digest: Callable[[str], str] = digest_text) -> dict[str, Any]:
        """Everything that the pairs depend on: their settings, with the SHA-256 of each file in place of its name.

        Args:
            digest: gives the SHA-256 of a file.

        A TensorFlow dataset that is not on disk is downloaded and prepared first. Its fingerprint has the SHA-256 of
        each of its files.

        Raises:
            CorpusError: a file cannot be read, or is a stream.
        """
        self.require_files()
        settings = config_to_dict(self._pairs)
        if not self._pairs.document:
            del settings["document"]  # fingerprints of version 0.1 lack it
        if not self._pairs.parquet:
            for name in ("parquet", "parquet_source", "parquet_target"):
                del settings[name]  # and these too
        settings |= {name: digest(settings[name]) for name in _FILE_FIELDS if settings.get(name)}
        if self._links:
            settings["links"] = digest(self._links)
        if self._pairs.tfds:
            settings |= {"tfds_directory": "", "tfds_files": dataset_digests(self._pairs)}
        return settings

    def require_files(self) -> None:
        """Refuses standard input, pipes and devices, which can be read only once.

        Raises:
            CorpusError: names the stream.
        """
        if self._streams:
            name = shown_name(self._streams[0])
            raise CorpusError(f"{name} can be read only once, the pairs are needed again: use files")

    def _read_pair(self, cells: tuple[bytes, ...], columns: list[RowStream], report: CorpusReport) -> Pair | None:
        """The pair of a row, or None for a pair that is dropped and counted."""
        try:
            texts = [cell.decode("utf-8").strip() for cell in cells]
        except UnicodeDecodeError:
            self._drop_invalid(cells, columns, report)
            return None
        alignment = texts[2] if self._pairs.alignment else None
        pair = Pair(texts[0], texts[1], alignment, texts[-1] if self._links else None)
        if not pair.source or not pair.target:
            if self._corpus.on_empty == "stop":
                place = columns[bool(pair.source)].place(report.read)
                raise CorpusError(f"{place}: no sentence: remove the pair, or set corpus.on_empty to drop")
            report.empty += 1
            return None
        if pair.alignment is not None:
            self._check_links(pair, pair.alignment, columns[2].place(report.read))
        if pair.links is not None:
            self._check_links(pair, pair.links, columns[-1].place(report.read))
        return pair

    def _drop_malformed(self, report: CorpusReport, whole: bool, message: str) -> None:
        """Counts a row that is no pair, or refuses it.

        Raises:
            CorpusError: malformed rows stop the reading, or there are too many of them.
        """
        if self._corpus.on_malformed == "stop":
            raise CorpusError(f"{message} (corpus.on_malformed drop leaves such rows out)")
        report.read += 1
        report.malformed += 1
        if len(report.malformed_examples) < _EXAMPLES_SHOWN:
            report.malformed_examples.append(message)
        if whole and report.malformed % MALFORMED_CHECKED == 0:
            require_more_pairs(report.malformed, report.read, report.first_malformed)

    def _check_links(self, pair: Pair, links: str, place: str) -> None:
        source, target = self._words
        require_in_range(parse_pharaoh(links, place), source(pair.source), target(pair.target), place)

    def _drop_invalid(self, cells: tuple[bytes, ...], columns: list[RowStream], report: CorpusReport) -> None:
        """Counts a row with invalid UTF-8, or refuses it.

        Raises:
            CorpusError: invalid text stops the reading.
        """
        for cell, column in zip(cells, columns, strict=True):
            place = column.place(report.read)
            try:
                cell.decode("utf-8")
            except UnicodeDecodeError as error:
                if self._corpus.on_invalid == "stop":
                    raise CorpusError(
                        f"{invalid_utf8(place, error)}: {TO_UTF8}; nmt clean and nmt train --corpus.on_invalid drop "
                        "leave such lines out"
                    ) from None
                break
        report.invalid += 1
        if len(report.examples) < _EXAMPLES_SHOWN:
            report.examples.append(place)
