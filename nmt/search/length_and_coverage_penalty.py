"""The score of a hypothesis: its log-probability with length penalty and coverage penalty (Wu et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nmt.backend import Tensor, ops

Normalization = Literal["wu", "power"]

MINIMUM_COVERAGE = 1e-6
"""Lower bound of a source piece's coverage, so that its logarithm is finite."""


def length_penalty(lengths: Tensor, alpha: Tensor, kind: Normalization = "wu") -> Tensor:
    """Divisor of the log-probability, float32, in the shape of `lengths`. The end of sentence counts as a piece.

    `wu`: ((5 + length) / 6) ** alpha (Wu et al. 2016, eq. 14). `power`: length ** alpha; with alpha = 1 the score is
    the mean log-probability of a piece.
    """
    lengths = ops.cast(lengths, "float32")
    return ((5.0 + lengths) / 6.0 if kind == "wu" else ops.maximum(lengths, 1.0)) ** alpha


def coverage_penalty(received: Tensor, real: Tensor) -> Tensor:
    """sum_j log(min(sum_i alpha_ij, 1)) over the source pieces j (Wu et al. 2016, eq. 14).

    It is 0 where every source piece received attention of 1 or more, and negative elsewhere.

    Args:
        received: attention that each source position received over all steps, float32 [batch, slots, positions].
        real: source positions that count, bool [batch, positions].

    Returns:
        float32 [batch, slots].
    """
    logarithms = ops.log(ops.clip(received, MINIMUM_COVERAGE, 1.0))
    return ops.sum(ops.where(real[:, None, :], logarithms, 0.0), axis=-1)


@dataclass(frozen=True)
class Scoring:
    """score = log-probability / length penalty + coverage * coverage penalty (Wu et al. 2016, eq. 14).

    Args:
        alpha: exponent of the length penalty, a number or a scalar tensor, at least 0; 0 scores by log-probability.
        kind: formula of the length penalty.
        coverage: weight of the coverage penalty, at least 0. If it is above 0, the step function's records must be
            attention weights.
        real: source positions that count for the coverage penalty, bool [batch, positions]; required with coverage.
    """

    alpha: Tensor = 0.0
    kind: Normalization = "wu"
    coverage: float = 0.0
    real: Tensor | None = None

    def scores(self, log_probabilities: Tensor, lengths: Tensor, records: Tensor) -> Tensor:
        """Scores, float32 [batch, slots].

        Args:
            log_probabilities, lengths: [batch, slots].
            records: records of all steps, [batch, slots, longest, positions].
        """
        scores = self.bounds(log_probabilities, lengths)
        if self.coverage:
            scores = scores + self.coverage * coverage_penalty(ops.sum(records, axis=2), self.real)
        return scores

    def bounds(self, log_probabilities: Tensor, limits: Tensor) -> Tensor:
        """Upper bounds of the scores of all continuations with at most `limits` pieces.

        A log-probability only falls. The length penalty is greatest at the limit. The coverage penalty is at most 0.
        """
        return log_probabilities / length_penalty(limits, self.alpha, self.kind)
