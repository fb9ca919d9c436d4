"""What `nmt explain` writes and prints."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

import numpy as np
from numpy.typing import NDArray

from nmt.alignment.word_alignment import WordAlignment
from nmt.cli.files import outdated_drawings
from nmt.explaining.erasure import Erasure, agreement
from nmt.explaining.unusual_pairs import MEASURES, UNUSUAL, Outliers, PairMeasures, find_outliers, measure_pair, reason
from nmt.files.outputs import open_output
from nmt.progress import LineProgress

if TYPE_CHECKING:
    from nmt.translation.translator import Translation

RECORDS, TABLE = "explanation.jsonl", "sentences.tsv"
"""What `nmt explain` writes of all pairs, beside its drawings."""

_TITLES = {
    "log_probability": "log-probability a target piece (nats)",
    "entropy": "entropy of attention (nats)",
    "end_of_sentence": "attention on the end of sentence",
    "unattended": "source words hardly attended to (share)",
    "overattended": "source words attended to too often (share)",
    "repeated": "target words said again (share)",
    "length_ratio": "target words a source word",
}


@dataclass
class _Corpus:
    """What is kept of the pairs: numbers alone, so that memory hardly grows with the text."""

    numbers: array[float] = field(default_factory=lambda: array("d"))
    """`PairMeasures.row` of the pairs, one after the other."""
    places: array[int] = field(default_factory=lambda: array("q"))
    """Byte at which each pair's record begins."""
    correlations: array[float] = field(default_factory=lambda: array("d"))
    """Mean rank correlation of each pair's target words; NaN where none has one."""
    correlation: float = 0.0
    """Sum of rank correlations over all target words that have one."""
    same_first: float = 0.0
    """How many of these attend most to the source word that they lose most without."""
    compared: int = 0
    """How many these are."""

    def matrix(self) -> NDArray[np.float64]:
        """[pairs, measures]."""
        return np.array(self.numbers).reshape(-1, len(MEASURES))

    def add(self, found: PairMeasures, place: int) -> None:
        self.numbers.extend(found.row())
        self.places.append(place)

    def compare(self, alignment: WordAlignment, erasure: Erasure) -> dict[str, Any]:
        """Adds the agreement of a pair's attention with its erasure, and gives it ready for `json.dumps`."""
        by_word = agreement(alignment, erasure)
        known = by_word.rank_correlations[~np.isnan(by_word.rank_correlations)]
        self.correlations.append(known.mean() if len(known) else math.nan)
        self.correlation += known.sum()
        self.same_first += np.nansum(by_word.same_first)
        self.compared += len(known)
        return {
            name: [None if math.isnan(value) else round(value, 4) for value in values.tolist()]
            for name, values in by_word._asdict().items()
        }


def write_report(explained: Iterable[tuple[Translation, Erasure | None]], directory: Path, worst: int) -> None:
    """Writes explanation.jsonl and sentences.tsv, plots the worst pairs, and prints them and the corpus's means.

    The records are written as the pairs come and read back, one at a time, when their order is known.

    Args:
        explained: pairs with their erasure, where that was asked for; may be a stream.
        directory: where to.
        worst: how many pairs are plotted and printed.
    """
    with (
        outdated_drawings(directory, "explanation"),
        open_output(str(directory / RECORDS)) as records,
        open_output(str(directory / TABLE)) as table,
    ):
        corpus = _collect(explained, records)
        records.flush()
        numbers = corpus.matrix()
        outliers = find_outliers(numbers)
        unusual = int((outliers.scores >= UNUSUAL).sum())
        print(f"{len(corpus.places)} pairs, {unusual} of them unusual (score {UNUSUAL} or more)")
        with open(records.name, "rb") as written:
            first = _write_table(corpus, numbers, outliers, written, table, worst)
    _draw(LineProgress(len(first)).over(first), directory)
    _print_means(corpus, numbers)


def _collect(explained: Iterable[tuple[Translation, Erasure | None]], records: TextIO) -> _Corpus:
    corpus, place = _Corpus(), 0
    for line, (pair, erasure) in enumerate(explained, start=1):
        found = measure_pair(pair.alignment, pair.log_probability, len(pair.pieces))
        record: dict[str, Any] = {"line": line, "log_probability": pair.log_probability, "pieces": len(pair.pieces)}
        record |= {"measures": found.to_json()} | pair.alignment.to_json()
        if erasure is not None:
            record["erasure"] = erasure.to_json() | corpus.compare(pair.alignment, erasure)
        corpus.add(found, place)
        text = json.dumps(record, ensure_ascii=False) + "\n"
        records.write(text)
        place += len(text.encode())
    return corpus


def _write_table(
    corpus: _Corpus,
    numbers: NDArray[np.float64],
    outliers: Outliers,
    records: BinaryIO,
    table: TextIO,
    worst: int,
) -> list[dict[str, Any]]:
    """All pairs, the worst first, with their words; the first of them are printed too.

    Returns:
        The records of these.
    """
    first = []
    names = [measure.name for measure in MEASURES] + ["rank_correlation"] * bool(corpus.correlations)
    table.write("\t".join(["line", "score", "measure", *names, "reason", "source", "target"]) + "\n")
    for place, index in enumerate(LineProgress(len(outliers.order)).over(outliers.order)):
        records.seek(corpus.places[index])
        record = json.loads(records.readline())
        why = reason(
            PairMeasures.from_json(record["measures"]),
            outliers.z_scores[index],
            outliers.medians,
            record["source"],
            record["target"],
        )
        score = outliers.scores[index]
        measure = MEASURES[np.nanargmax(outliers.z_scores[index])].name if not math.isnan(score) else ""
        values = [*_natural(numbers[index]), *corpus.correlations[index : index + 1]]
        source, target = " ".join(record["source"]), " ".join(record["target"])
        cells = [_number(score), measure, *map(_number, values), why, source, target]
        table.write("\t".join([str(record["line"]), *cells]) + "\n")
        if place < worst:
            scored = "" if math.isnan(score) else f", score {score:.1f}"
            print(f"\nline {record['line']}{scored}: {why}\n  {source}\n  {target}")
            first.append(record)
    return first


def _natural(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """[..., measures] with the length ratio itself in place of its logarithm."""
    return np.concatenate([numbers[..., :-1], np.exp(numbers[..., -1:])], axis=-1)


def _number(value: float) -> str:
    """Four digits; nothing where there is no number."""
    return "" if math.isnan(value) else f"{value:.4g}"


@dataclass(frozen=True)
class _Shown:
    """A recorded pair as the page shows it."""

    text: str
    log_probability: float
    alignment: WordAlignment


def _draw(records: Iterable[dict[str, Any]], directory: Path) -> None:
    """A plot of each pair, erasure beside attention where there is one, and a page of all of them."""
    from nmt.drawing import drawable, save_heatmap
    from nmt.drawing import page as viewer

    entries = []
    for record in records:
        alignment, line = WordAlignment.from_json(record), record["line"]
        erasure = Erasure.from_json(record["erasure"]).falls if "erasure" in record else None
        if drawable(alignment):
            title = f"line {line}, log-probability {record['log_probability']:.2f}"
            save_heatmap(alignment, directory / f"{line:04d}.png", title, erasure=erasure)
            shown = _Shown(" ".join(alignment.target), record["log_probability"], alignment)
            entries.append(viewer.PageSentence([shown], f"line {line}", erasure=erasure))
    if entries:
        viewer.save(entries, directory / "explanation.html", "The most unusual pairs")


def _print_means(corpus: _Corpus, numbers: NDArray[np.float64]) -> None:
    """A table of means and medians over the pairs, and how far attention agrees with erasure."""
    if not len(numbers):
        return
    values = _natural(numbers)
    print(f"\n{'':44}{'mean':>8}{'median':>8}")
    for place, measure in enumerate(MEASURES):
        known = values[np.isfinite(values[:, place]), place]
        if len(known):
            print(f"{_TITLES[measure.name]:44}{known.mean():8.3f}{np.median(known):8.3f}")
    if corpus.compared:
        correlation, same = corpus.correlation / corpus.compared, corpus.same_first / corpus.compared
        print(
            f"\nrank correlation of attention with erasure: {correlation:.3f} (Spearman, mean over "
            f"{corpus.compared} target words)\n"
            f"the source word attended to most is the one needed most: for {same:.1%} of them\n"
            "Attention shows where the model looked; that is not always the reason for a word."
        )
