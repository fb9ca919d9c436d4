"""Which sentence pairs of a corpus are out of the ordinary, and why: what to look at to find bad training pairs, and
words that a translation has dropped or repeated.

Attention as a measure of confidence is that of Rikters and Fishel (2017, "Confidence through Attention"); that words
attended to too little or too often are dropped or repeated is the observation of Tu et al. (2016, "Modeling Coverage
for Neural Machine Translation").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.alignment.word_alignment import WordAlignment

UNATTENDED = 0.2
"""A source word that receives less attention than this, over all target words together, is hardly attended to."""
OVERATTENDED = 2.0
"""A source word that receives more than this, in target words, is attended to too often."""
UNUSUAL = 3.5
"""Score from which a pair is out of the ordinary (Iglewicz and Hoaglin 1993, "How to Detect and Handle Outliers")."""

LEAST_SPREAD = 0.05
"""Nats, share of the words, or part of the length: a measure that hardly differs between pairs is taken to differ by
this, or the few pairs of a large corpus that repeat two words, as some sentences must, would come before all others."""

Span = tuple[int, int]
"""Words from the first number up to but not including the second."""


@dataclass(frozen=True)
class PairMeasures:
    """Measures of one pair; NaN where a side has nothing to measure."""

    log_probability: float
    """Nats for each target piece, the end of sentence included."""
    entropy: float
    """Of a target word's attention over the source words and the end of sentence, in nats, from 0 to
    ln(source words + 1): the mean over the target words that have pieces. The source's end of sentence counts as one
    more place to look at; the row of the target's end of sentence is not counted."""
    end_of_sentence: float
    """Attention on the source's end of sentence, 0 to 1: the mean over the same target words."""
    unattended: tuple[int, ...]
    """Source words that receive less than `UNATTENDED`: perhaps dropped."""
    overattended: tuple[int, ...]
    """Source words that receive more than `OVERATTENDED`: perhaps repeated."""
    repeats: tuple[Span, ...]
    """Where the target repeats what it has said before, see `repeats`."""
    repeated: float
    """Share of the target's words that stand in `repeats`, less as many words as the source repeats; at least 0."""
    length_ratio: float
    """Target words for each source word; 0 where the target is blank, infinite where the source is."""
    source_words: int

    def row(self) -> tuple[float, ...]:
        """A number for each of `MEASURES`, as `find_outliers` takes them."""
        ratio = -math.inf if self.length_ratio == 0 else math.log(self.length_ratio)
        if math.isnan(self.entropy):
            return self.log_probability, *[math.nan] * 5, ratio
        return (
            self.log_probability,
            self.entropy,
            self.end_of_sentence,
            len(self.unattended) / self.source_words,
            len(self.overattended) / self.source_words,
            self.repeated,
            ratio,
        )

    def to_json(self) -> dict[str, Any]:
        """Ready for `json.dumps`; a number that is not finite is None."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> PairMeasures:
        """Reads back what `to_json` wrote; None becomes NaN."""
        numbers = {name: math.nan if value is None else value for name, value in values.items()}
        words = {name: tuple(values[name]) for name in ("unattended", "overattended")}
        return cls(**numbers | words | {"repeats": tuple((begin, end) for begin, end in values["repeats"])})


class Measure(NamedTuple):
    """What pairs are ranked by."""

    name: str
    worse: int
    """1: a high value is bad, -1: a low one, 0: either."""


MEASURES = (
    Measure("log_probability", -1),
    Measure("entropy", 1),
    Measure("end_of_sentence", 1),
    Measure("unattended", 1),
    Measure("overattended", 1),
    Measure("repeated", 1),
    Measure("length_ratio", 0),
)
"""Of `PairMeasures.row`: unattended, overattended and repeated are shares of words there, the ratio is its ln."""


def measure_pair(alignment: WordAlignment, log_probability: float, pieces: int) -> PairMeasures:
    """Measures a pair by its attention.

    Args:
        alignment: attention between its words.
        log_probability: of all target pieces and the end of sentence, in nats.
        pieces: how many these are; 0 for a pair with a blank side.
    """
    source, target = alignment.source, alignment.target
    rows = np.column_stack([alignment.weights, alignment.end_of_sentence]).astype(float)
    rows = rows[rows.sum(axis=1) > 0]  # a target word without pieces attends to nothing
    measured = bool(source) and len(rows) > 0
    received = alignment.weights.sum(axis=0, dtype=float) if measured else np.full(len(source), np.nan)
    said_again = repeats(target)
    more = _count(said_again) - _count(repeats(source))
    return PairMeasures(
        log_probability=log_probability / pieces if pieces else math.nan,
        entropy=float(_entropies(rows).mean()) if measured else math.nan,
        end_of_sentence=float(rows[:, -1].mean()) if measured else math.nan,
        unattended=_where(received < UNATTENDED),
        overattended=_where(received > OVERATTENDED),
        repeats=said_again,
        repeated=max(more, 0) / len(target) if target else 0.0,
        length_ratio=len(target) / len(source) if source else math.inf if target else math.nan,
        source_words=len(source),
    )


def _entropies(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """-sum p ln p of each row, in nats."""
    return -np.sum(rows * np.log(np.where(rows > 0, rows, 1.0)), axis=1)


def _where(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mask).tolist())


def _count(spans: Sequence[Span]) -> int:
    return sum(end - begin for begin, end in spans)


def repeats(words: Sequence[str]) -> tuple[Span, ...]:
    """Where words say again what stood before in the sentence: two or more words in the same order anywhere, or a word
    right behind itself. Upper and lower case are the same."""
    folded = [word.casefold() for word in words]
    again, seen = [False] * len(folded), set()
    for place, pair in enumerate(pairwise(folded), start=1):
        if pair[0] == pair[1]:
            again[place] = True
        if pair in seen:
            again[place - 1] = again[place] = True
        seen.add(pair)
    runs = (list(run) for said, run in groupby(range(len(again)), again.__getitem__) if said)
    return tuple((run[0], run[-1] + 1) for run in runs)


@dataclass(frozen=True, eq=False)
class Outliers:
    """The pairs of a corpus by how much they are out of the ordinary there."""

    z_scores: NDArray[np.float64]
    """[pairs, measures]: modified z-scores, positive where bad; infinite where one side is blank, NaN where there is
    nothing to measure."""
    medians: NDArray[np.float64]
    """[measures]: medians over the corpus, NaN where no pair has the measure."""

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """[pairs]: of the worst measure; NaN where both sides are blank."""
        return np.fmax.reduce(self.z_scores, axis=1)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Indices of the pairs, the worst first; equals in their order, pairs with nothing to measure last."""
        return np.argsort(-self.scores, kind="stable")


def find_outliers(numbers: ArrayLike) -> Outliers:
    """Orders pairs by how far their worst measure is from this corpus's median.

    The score of a measure is the modified z-score 0.6745 (x - median) / MAD, where MAD is the median absolute deviation
    from the median (Iglewicz and Hoaglin 1993), signed so that positive is bad. A measure that is the same for more
    than half of the pairs has no MAD; (x - median) / (1.2533 mean absolute deviation) takes its place, and no divisor
    is below `LEAST_SPREAD`. The pair's score is that of its worst measure: they are not added up, as one that is far
    out is reason enough to look.

    Args:
        numbers: [pairs, measures], of `PairMeasures.row`.
    """
    values = np.asarray(numbers, float).reshape(-1, len(MEASURES))
    columns = [_outlying(values[:, place], measure.worse) for place, measure in enumerate(MEASURES)]
    return Outliers(np.column_stack([z for z, _ in columns]), np.array([median for _, median in columns]))


def _outlying(values: NDArray[np.float64], worse: int) -> tuple[NDArray[np.float64], float]:
    """Modified z-scores, positive where bad, and the median of the finite values."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.abs(values), math.nan
    median = float(np.median(finite))
    sizes = np.abs(finite - median)
    spread = max(np.median(sizes) / 0.6745 or 1.253314 * sizes.mean(), LEAST_SPREAD)
    z = np.where(np.isfinite(values), (values - median) / spread, values)
    return (np.abs(z) if worse == 0 else worse * z), median


def reason(found: PairMeasures, z: ArrayLike, typical: ArrayLike, source: Sequence[str], target: Sequence[str]) -> str:
    """What is wrong with a pair, in words: each measure that is out of the ordinary, the worst first.

    Args:
        found: its measures.
        z: their modified z-scores, a row of `Outliers.z_scores`.
        typical: `Outliers.medians`.
        source, target: its words.
    """
    if not source or not target:
        return (
            "both sides are blank" if not source and not target else f"the {'target' if source else 'source'} is blank"
        )
    row, medians = np.asarray(z, float), np.asarray(typical, float).tolist()
    unusual = [place for place in np.argsort(-row, kind="stable") if row[place] >= UNUSUAL]
    said = (_in_words(MEASURES[place].name, found, medians[place], source, target) for place in unusual)
    return "; ".join(said) or "nothing unusual"


def _in_words(name: str, found: PairMeasures, typical: float, source: Sequence[str], target: Sequence[str]) -> str:
    if name == "log_probability":
        return f"unlikely: {found.log_probability:.2f} nats a piece, usually {typical:.2f}"
    if name == "entropy":
        return f"attention is spread out: {found.entropy:.2f} nats, usually {typical:.2f}"
    if name == "end_of_sentence":
        return f"attention is on the end of sentence: {found.end_of_sentence:.2f} of it, usually {typical:.2f}"
    if name == "unattended":
        return f"hardly attended to, perhaps dropped: {_quoted(source[s] for s in found.unattended)}"
    if name == "overattended":
        return f"attended to too often, perhaps repeated: {_quoted(source[s] for s in found.overattended)}"
    if name == "repeated":
        return f"says again: {_quoted(' '.join(target[begin:end]) for begin, end in found.repeats)}"
    kind = "short" if found.length_ratio < math.exp(typical) else "long"
    return f"{kind}: {len(target)} words for {len(source)}, usually {len(source) * math.exp(typical):.0f}"


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f"'{text}'" for text in texts)
