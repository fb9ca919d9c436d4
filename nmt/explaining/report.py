"""The report on a corpus: a record of each pair, a table with the most unusual pairs first, means over all pairs."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from nmt.alignment.word_alignment import WordAlignment
from nmt.explaining.erasure import Erasure, agreement
from nmt.explaining.pair_measures import MEASURES, PairMeasures, measure_pair
from nmt.explaining.unusual_pairs import UNUSUAL, Outliers, find_outliers, reason
from nmt.files.tables import without_formula
from nmt.progress import LineProgress, counted

if TYPE_CHECKING:
    from nmt.translation.result import Translation

_TITLES = {
    "log_probability": "log-probability per target piece (nats)",
    "entropy": "entropy of attention (nats)",
    "end_of_sentence": "attention on the end of sentence",
    "unattended": "source words with little attention (share)",
    "overattended": "source words with too much attention (share)",
    "repeated": "repeated target words (share)",
    "length_ratio": "target words per source word",
}


@dataclass
class CorpusMeasures:
    """Measures of all pairs. They are numbers only, so that long texts need little memory."""

    numbers: array[float] = field(default_factory=lambda: array("d"))
    """`PairMeasures.row` of all pairs, one row after the other."""
    offsets: array[int] = field(default_factory=lambda: array("q"))
    """Byte offset of each pair's record."""
    correlations: array[float] = field(default_factory=lambda: array("d"))
    """Mean rank correlation of each pair's target words; NaN if no word has one."""
    correlation_sum: float = 0.0
    """Sum of the rank correlations of all target words that have one."""
    same_first: float = 0.0
    """Number of target words that attend most to the source word whose erasure costs them most."""
    compared_words: int = 0
    """Number of target words that have a rank correlation."""

    def matrix(self) -> NDArray[np.float64]:
        """[pairs, measures]."""
        return np.array(self.numbers).reshape(-1, len(MEASURES))

    def add(self, measures: PairMeasures, offset: int) -> None:
        self.numbers.extend(measures.row())
        self.offsets.append(offset)

    def compare(self, alignment: WordAlignment, erasure: Erasure) -> dict[str, Any]:
        """Adds the agreement of a pair's attention with its erasure, and returns it ready for `json.dumps`."""
        by_word = agreement(alignment, erasure)
        known = by_word.rank_correlations[~np.isnan(by_word.rank_correlations)]
        self.correlations.append(known.mean() if len(known) else math.nan)
        self.correlation_sum += known.sum()
        self.same_first += np.nansum(by_word.same_first)
        self.compared_words += len(known)
        return {
            name: [None if math.isnan(value) else round(value, 4) for value in values.tolist()]
            for name, values in by_word._asdict().items()
        }


class UnusualPair(NamedTuple):
    """One of the most unusual pairs of a corpus."""

    record: dict[str, Any]
    """The pair's line in the file of records."""
    score: float
    """NaN if the pair has no score."""
    reason: str


def write_records(explained: Iterable[tuple[Translation, Erasure | None]], records: TextIO) -> CorpusMeasures:
    """Writes a line of JSON for each pair.

    Args:
        explained: pairs, which may be a stream, each with its erasure or None.
        records: the file.
    """
    corpus, offset = CorpusMeasures(), 0
    for line, (pair, erasure) in enumerate(explained, start=1):
        measures = measure_pair(pair.alignment, pair.log_probability, len(pair.pieces))
        record: dict[str, Any] = {"line": line, "log_probability": pair.log_probability, "pieces": len(pair.pieces)}
        record |= {"measures": measures.to_json()} | pair.alignment.to_json()
        if erasure is not None:
            record["erasure"] = erasure.to_json() | corpus.compare(pair.alignment, erasure)
        corpus.add(measures, offset)
        text = json.dumps(record, ensure_ascii=False) + "\n"
        records.write(text)
        offset += len(text.encode())
    records.flush()
    return corpus


def write_table(
    corpus: CorpusMeasures, outliers: Outliers, records: BinaryIO, table: TextIO, worst: int
) -> list[UnusualPair]:
    """Writes a line with tabs for each pair, the most unusual pair first. Spreadsheets run no text as a formula.

    Args:
        corpus: the measures of all pairs.
        outliers: the scores of all pairs.
        records: the file of records, which is read one line at a time.
        table: the file to write.
        worst: number of pairs to return.

    Returns:
        The most unusual pairs.
    """
    worst_pairs = []
    numbers = corpus.matrix()
    names = [measure.name for measure in MEASURES] + ["rank_correlation"] * bool(corpus.correlations)
    table.write("\t".join(["line", "score", "measure", *names, "reason", "source", "target"]) + "\n")
    for rank, index in enumerate(LineProgress(len(outliers.order), unit="pairs").over(outliers.order)):
        records.seek(corpus.offsets[index])
        record = json.loads(records.readline())
        score, z_scores = outliers.scores[index], outliers.z_scores[index]
        measures = PairMeasures.from_json(record["measures"])
        why = reason(measures, z_scores, outliers.medians, record["source"], record["target"])
        measure = MEASURES[np.nanargmax(z_scores)].name if not math.isnan(score) else ""
        values = [*_with_length_ratio(numbers[index]), *corpus.correlations[index : index + 1]]
        texts = map(without_formula, (why, " ".join(record["source"]), " ".join(record["target"])))
        table.write("\t".join([str(record["line"]), _number(score), measure, *map(_number, values), *texts]) + "\n")
        if rank < worst:
            worst_pairs.append(UnusualPair(record, score, why))
    return worst_pairs


def count_unusual(corpus: CorpusMeasures) -> tuple[Outliers, str]:
    """The scores of all pairs, and a line on how many pairs are unusual."""
    outliers = find_outliers(corpus.matrix())
    unusual = int((outliers.scores >= UNUSUAL).sum())
    return outliers, f"{counted(len(corpus.offsets), 'pair')}, {unusual:,} of them unusual (score {UNUSUAL} or more)"


def mean_lines(corpus: CorpusMeasures) -> Iterator[str]:
    """A table of means and medians over the pairs, then the agreement of attention with erasure."""
    values = _with_length_ratio(corpus.matrix())
    if not len(values):
        return
    yield f"\n{'':46}{'mean':>8}{'median':>8}"
    for column, measure in enumerate(MEASURES):
        known = values[np.isfinite(values[:, column]), column]
        if len(known):
            yield f"{_TITLES[measure.name]:46}{known.mean():8.3f}{np.median(known):8.3f}"
    if corpus.compared_words:
        correlation, same = corpus.correlation_sum / corpus.compared_words, corpus.same_first / corpus.compared_words
        words = f"{corpus.compared_words:,} target words"
        yield f"\nrank correlation of attention with erasure: {correlation:.3f} (Spearman, mean over {words})"
        yield f"the source word with the most attention is the one needed most: for {same:.1%} of them"
        yield "Attention shows where the model looked; that is not always the reason for a word."


def _with_length_ratio(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """[..., measures] with the length ratio in place of its logarithm."""
    return np.concatenate([numbers[..., :-1], np.exp(numbers[..., -1:])], axis=-1)


def _number(value: float) -> str:
    """Four digits; "" for NaN."""
    return "" if math.isnan(value) else f"{value:.4g}"
