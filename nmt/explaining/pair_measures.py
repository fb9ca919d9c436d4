"""Measures of one sentence pair from its attention: how sure, how complete and how repetitive the target is.

Attention as a measure of confidence comes from Rikters and Fishel (2017, "Confidence through Attention"). Tu et al.
(2016, "Modeling Coverage for Neural Machine Translation") observed that words with too little attention are dropped,
and words with too much are repeated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.alignment.word_alignment import WordAlignment

UNATTENDED = 0.2
"""A source word with less attention than this, summed over all target words, gets too little."""
OVERATTENDED = 2.0
"""A source word with more attention than this, summed over all target words, gets too much."""

Span = tuple[int, int]
"""The position of the first word, and of the word after the last."""


@dataclass(frozen=True)
class PairMeasures:
    """The measures of one pair; NaN where a blank side leaves nothing to measure."""

    log_probability: float
    """Nats per target piece, the end of sentence included."""
    entropy: float
    """Entropy in nats of a target word's attention over the source words and the source's end of sentence, from 0 to
    ln(source words + 1). This is the mean over the target words that have pieces."""
    end_of_sentence: float
    """Attention on the source's end of sentence, 0 to 1: the mean over the same target words."""
    unattended: tuple[int, ...]
    """Source words with less attention than `UNATTENDED`: perhaps dropped."""
    overattended: tuple[int, ...]
    """Source words with more attention than `OVERATTENDED`: perhaps repeated."""
    repeats: tuple[Span, ...]
    """Target words that repeat earlier ones (see `repeats`)."""
    repeated: float
    """The share of the target's words in `repeats`, after subtracting the words that the source repeats; at least 0."""
    length_ratio: float
    """Target words divided by source words; 0 where the target is blank, infinite where the source is."""
    source_words: int

    def row(self) -> tuple[float, ...]:
        """One number for each of `MEASURES`, as `find_outliers` takes them."""
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
        """Ready for `json.dumps`; a number that is not finite becomes None."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> PairMeasures:
        """Reads what `to_json` wrote; None becomes NaN."""
        numbers = {name: math.nan if value is None else value for name, value in values.items()}
        words = {name: tuple(values[name]) for name in ("unattended", "overattended")}
        return cls(**numbers | words | {"repeats": tuple((begin, end) for begin, end in values["repeats"])})


class Measure(NamedTuple):
    """One column of `PairMeasures.row`."""

    name: str
    bad_sign: int
    """1: a high value is bad; -1: a low value is bad; 0: both are."""


MEASURES = (
    Measure("log_probability", -1),
    Measure("entropy", 1),
    Measure("end_of_sentence", 1),
    Measure("unattended", 1),
    Measure("overattended", 1),
    Measure("repeated", 1),
    Measure("length_ratio", 0),
)
"""The columns of `PairMeasures.row`. Unattended and overattended words are shares there; the length ratio is its ln."""


def measure_pair(alignment: WordAlignment, log_probability: float, pieces: int) -> PairMeasures:
    """Measures a pair by its attention.

    Args:
        alignment: attention between its words.
        log_probability: the sum over all target pieces and the end of sentence, in nats.
        pieces: the number of these pieces; 0 for a pair with a blank side.
    """
    source, target = alignment.source, alignment.target
    rows = np.column_stack([alignment.weights, alignment.end_of_sentence]).astype(float)
    rows = rows[rows.sum(axis=1) > 0]  # a target word without pieces attends to nothing
    measured = bool(source) and len(rows) > 0
    received = alignment.weights.sum(axis=0, dtype=float) if measured else np.full(len(source), np.nan)
    repeated_spans = repeats(target)
    more_than_source = _words_in(repeated_spans) - _words_in(repeats(source))
    return PairMeasures(
        log_probability=log_probability / pieces if pieces else math.nan,
        entropy=float(_entropies(rows).mean()) if measured else math.nan,
        end_of_sentence=float(rows[:, -1].mean()) if measured else math.nan,
        unattended=_true_positions(received < UNATTENDED),
        overattended=_true_positions(received > OVERATTENDED),
        repeats=repeated_spans,
        repeated=max(more_than_source, 0) / len(target) if target else 0.0,
        length_ratio=len(target) / len(source) if source else math.inf if target else math.nan,
        source_words=len(source),
    )


def repeats(words: Sequence[str]) -> tuple[Span, ...]:
    """Finds words that repeat earlier words of the sentence, ignoring case.

    A repeat is two or more words that occurred in this order before, or a word directly after itself.
    """
    folded = [word.casefold() for word in words]
    is_repeat, seen = [False] * len(folded), set()
    for place, pair in enumerate(pairwise(folded), start=1):
        if pair[0] == pair[1]:
            is_repeat[place] = True
        if pair in seen:
            is_repeat[place - 1] = is_repeat[place] = True
        seen.add(pair)
    runs = (list(run) for repeated, run in groupby(range(len(words)), is_repeat.__getitem__) if repeated)
    return tuple((run[0], run[-1] + 1) for run in runs)


def _entropies(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """-sum p ln p of each row, in nats."""
    return -np.sum(rows * np.log(np.where(rows > 0, rows, 1.0)), axis=1)


def _true_positions(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(mask).tolist())


def _words_in(spans: Sequence[Span]) -> int:
    return sum(end - begin for begin, end in spans)
