"""Sentence pairs as they stream: checked, counted, identified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nmt.alignment.links import require_in_range
from nmt.alignment.pharaoh_and_naacl import parse_pharaoh
from nmt.config import CorpusConfig, PairsConfig, config_to_dict
from nmt.files.paths import is_stream
from nmt.text.datasets import dataset_digests
from nmt.text.errors import CorpusError
from nmt.text.formats import RowStream, open_pairs, side_by_side
from nmt.text.lines import InvalidText, decode, digest_of_text, shown_name

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
            raise CorpusError(_ONCE.format(shown_name(self._once[0])))
        self._started = True
        report = CorpusReport()
        streams = open_pairs(self._pairs, self._links)
        columns = [stream for stream in streams for _ in range(stream.width)]
        for cells in side_by_side(streams):
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
            raise CorpusError(_ONCE.format(shown_name(self._once[0])))
        settings = config_to_dict(self._pairs)
        settings |= {field: digest_of_text(settings[field]) for field in _FILES if settings[field]}
        if self._links:
            settings["links"] = digest_of_text(self._links)
        if self._pairs.tfds:
            settings |= {"tfds_directory": "", "tfds_files": dataset_digests(self._pairs)}
        return settings

    def _checked(self, cells: tuple[bytes, ...], columns: list[RowStream], report: CorpusReport) -> Pair | None:
        """The pair, or None where it is dropped and counted."""
        try:
            texts = [decode(cell, c.place(report.read)).strip() for cell, c in zip(cells, columns, strict=True)]
        except InvalidText as error:
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
