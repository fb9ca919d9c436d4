"""How sure an alignment error rate is: bootstrap intervals, and paired comparison of two sets of links.

The sentences of the test set are drawn with replacement, as many as there are. The error rate of the drawn sentences
follows from their summed counts (Efron and Tibshirani 1993; Koehn 2004 for machine translation).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.evaluation.alignment_error_rate import LinkCounts, score_of_counts
from nmt.evaluation.errors import require_equal_counts

RESAMPLES = 1000
SEED = 12345
CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A bootstrap interval: the percentiles of the resampled values."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.3f} to {self.high:.3f}"


class LinkComparison(NamedTuple):
    """Two sets of links on the same sentences."""

    difference: float
    """AER of the first links less AER of the second: negative if the first are better."""
    interval: Interval
    """Of the difference."""
    p_value: float
    """The share of resamples whose difference is at least as far from the mean resampled difference as the measured
    difference is from 0: how often chance alone makes such a difference. Two-sided; the measured value counts as one
    resample, so the least value is 1 / (resamples + 1)."""


def aer_interval(counts: Sequence[LinkCounts], resamples: int = RESAMPLES, seed: int = SEED) -> Interval:
    """The 95 % bootstrap interval of the alignment error rate.

    Args:
        counts: of each sentence, one or more.
        resamples: number of drawn test sets.
        seed: equal seeds draw equal test sets.
    """
    return _interval(_error_rates(counts, resamples, seed))


def compare_links(
    first: Sequence[LinkCounts], second: Sequence[LinkCounts], resamples: int = RESAMPLES, seed: int = SEED
) -> LinkComparison:
    """Compares two sets of links by the paired bootstrap: both are measured on the same drawn sentences.

    Args:
        first, second: counts of each sentence, in one order, against the same gold links.
        resamples: number of drawn test sets.
        seed: equal seeds draw equal test sets.

    Raises:
        EvaluationError: different numbers of sentences.
    """
    require_equal_counts(first, second, "sentences with links", "sentences with other links")
    measured = score_of_counts(first).aer - score_of_counts(second).aer
    differences = _error_rates(first, resamples, seed) - _error_rates(second, resamples, seed)
    # rounding must not part differences that are equal
    extreme = np.abs(differences - differences.mean()) >= abs(measured) - 1e-12
    return LinkComparison(measured, _interval(differences), (1 + int(extreme.sum())) / (1 + resamples))


def _error_rates(counts: Sequence[LinkCounts], resamples: int, seed: int) -> NDArray[np.float64]:
    """[resamples]: the alignment error rate of each test set. Test sets are drawn one by one, in little memory."""
    generator, sentences = np.random.default_rng(seed), len(counts)
    table, chances = np.array(counts, np.int64), np.full(sentences, 1 / sentences)
    drawn = [generator.multinomial(sentences, chances) @ table for _ in range(resamples)]
    links, sure, in_sure, in_possible = np.array(drawn).T
    whole = links + sure
    return np.where(whole > 0, 1 - (in_sure + in_possible) / np.maximum(whole, 1), 0.0)


def _interval(values: NDArray[np.float64]) -> Interval:
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(values, [tail, 100 - tail])
    return Interval(float(low), float(high))
