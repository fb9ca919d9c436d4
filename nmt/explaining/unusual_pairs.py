"""Finds the pairs of a corpus that are unusual there, and says why: bad training pairs, dropped or repeated words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.explaining.pair_measures import MEASURES, PairMeasures
from nmt.progress import counted

UNUSUAL = 3.5
"""The score from which a pair is unusual (Iglewicz and Hoaglin 1993, "How to Detect and Handle Outliers")."""

LEAST_SPREAD = 0.05
"""The least divisor of a score, in the unit of the measure. Few pairs of a large corpus repeat words, often rightly.
Without a least divisor, these pairs would come before all others, because the rest do not differ in that measure."""


@dataclass(frozen=True, eq=False)
class Outliers:
    """How far each pair of a corpus is from the usual."""

    z_scores: NDArray[np.float64]
    """[pairs, measures]: modified z-scores, positive where bad; infinite where one side is blank, NaN where nothing can
    be measured."""
    medians: NDArray[np.float64]
    """[measures]: medians over the corpus, NaN where no pair has the measure."""

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """[pairs]: the z-score of the worst measure; NaN where both sides are blank."""
        return np.fmax.reduce(self.z_scores, axis=1)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Indices of the pairs, the worst first. Equal pairs keep their order; pairs without measures come last."""
        return np.argsort(-self.scores, kind="stable")


def find_outliers(rows: ArrayLike) -> Outliers:
    """Scores each pair by the distance of its worst measure from the median of this corpus.

    The score of a measure is the modified z-score 0.6745 (x - median) / MAD of Iglewicz and Hoaglin (1993), with the
    sign that makes bad values positive. MAD is the median absolute deviation from the median. A measure that is equal
    for more than half of the pairs has MAD 0; then the score is (x - median) / (1.2533 mean absolute deviation). No
    divisor is below `LEAST_SPREAD`. Scores of several measures are not added: one bad measure is reason enough to look.

    Args:
        rows: [pairs, measures], from `PairMeasures.row`.
    """
    values = np.asarray(rows, float).reshape(-1, len(MEASURES))
    columns = [_z_scores(values[:, place], measure.bad_sign) for place, measure in enumerate(MEASURES)]
    return Outliers(np.column_stack([z for z, _ in columns]), np.array([median for _, median in columns]))


def _z_scores(values: NDArray[np.float64], bad_sign: int) -> tuple[NDArray[np.float64], float]:
    """Modified z-scores, positive where bad, and the median of the finite values."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.abs(values), math.nan
    median = float(np.median(finite))
    deviations = np.abs(finite - median)
    spread = max(np.median(deviations) / 0.6745 or 1.253314 * deviations.mean(), LEAST_SPREAD)
    z = np.where(np.isfinite(values), (values - median) / spread, values)
    return (np.abs(z) if bad_sign == 0 else bad_sign * z), median


def reason(
    measures: PairMeasures, z_scores: ArrayLike, medians: ArrayLike, source: Sequence[str], target: Sequence[str]
) -> str:
    """Says in words why a pair is unusual: each measure with a score of `UNUSUAL` or more, the worst first.

    Args:
        measures: the measures of the pair.
        z_scores: its row of `Outliers.z_scores`.
        medians: `Outliers.medians`.
        source, target: its words.
    """
    if not source or not target:
        return (
            "both sides are blank" if not source and not target else f"the {'target' if source else 'source'} is blank"
        )
    row, usual = np.asarray(z_scores, float), np.asarray(medians, float).tolist()
    unusual = [place for place in np.argsort(-row, kind="stable") if row[place] >= UNUSUAL]
    reasons = (_in_words(MEASURES[place].name, measures, usual[place], source, target) for place in unusual)
    return "; ".join(reasons) or "nothing unusual"


def _in_words(name: str, measures: PairMeasures, usual: float, source: Sequence[str], target: Sequence[str]) -> str:
    if name == "log_probability":
        return f"unlikely: {measures.log_probability:.2f} nats per piece, usually {usual:.2f}"
    if name == "entropy":
        return f"attention is spread out: {measures.entropy:.2f} nats, usually {usual:.2f}"
    if name == "end_of_sentence":
        return f"attention is on the end of sentence: {measures.end_of_sentence:.2f} of it, usually {usual:.2f}"
    if name == "unattended":
        return f"too little attention, perhaps dropped: {_quoted(source[s] for s in measures.unattended)}"
    if name == "overattended":
        return f"too much attention, perhaps repeated: {_quoted(source[s] for s in measures.overattended)}"
    if name == "repeated":
        return f"repeats earlier words: {_quoted(' '.join(target[begin:end]) for begin, end in measures.repeats)}"
    kind = "short" if measures.length_ratio < math.exp(usual) else "long"
    return f"{kind}: {counted(len(target), 'word')} for {len(source)}, usually {len(source) * math.exp(usual):.0f}"


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f"'{text}'" for text in texts)
