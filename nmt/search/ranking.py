"""What hypotheses are ordered by: their log-probability, made fair to the long, less what they left untranslated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keras import ops

from nmt.backend import Tensor

Normalization = Literal["wu", "power"]

_LEAST_COVERAGE = 1e-6  # of a source piece that nothing attended to, so that its logarithm is a number


def length_penalty(lengths: Tensor, alpha: Tensor, kind: Normalization = "wu") -> Tensor:
    """What a log-probability is divided by; the end of sentence counts as a piece.

    `wu`: ((5 + length) / 6) ** alpha (Wu et al. 2016, eq. 14). `power`: length ** alpha, so alpha 1 is the mean
    log-probability of a piece.
    """
    lengths = ops.cast(lengths, "float32")
    return ((5.0 + lengths) / 6.0 if kind == "wu" else ops.maximum(lengths, 1.0)) ** alpha


def coverage_penalty(received: Tensor, real: Tensor) -> Tensor:
    """sum_j log(min(sum_i alpha_ij, 1)) over source pieces j: 0 where all were attended to (Wu et al. 2016, eq. 14).

    Args:
        received: attention that each source position received in all steps, float32 [batch, slots, positions].
        real: which positions count, bool [batch, positions].

    Returns:
        float32 [batch, slots], not above 0.
    """
    costs = ops.log(ops.clip(received, _LEAST_COVERAGE, 1.0))
    return ops.sum(ops.where(real[:, None, :], costs, 0.0), axis=-1)


@dataclass(frozen=True)
class Ranking:
    """score = log-probability / length penalty + coverage weight * coverage penalty (Wu et al. 2016, eq. 14).

    Args:
        alpha: exponent of the length penalty, a number not below 0 or a scalar tensor; 0 ranks by log-probability.
        kind: of the length penalty.
        coverage: weight of the coverage penalty, not below 0; what the step function records is the attention then.
        real: source positions that should be covered, bool [batch, positions]; needed where coverage is not 0.
    """

    alpha: Tensor = 0.0
    kind: Normalization = "wu"
    coverage: float = 0.0
    real: Tensor | None = None

    def scores(self, log_probabilities: Tensor, lengths: Tensor, records: Tensor) -> Tensor:
        """float32 [batch, slots] from log-probabilities and lengths [batch, slots], and the records of all steps,
        [batch, slots, longest, positions]."""
        scores = self.bounds(log_probabilities, lengths)
        if self.coverage:
            scores = scores + self.coverage * coverage_penalty(ops.sum(records, axis=2), self.real)
        return scores

    def bounds(self, log_probabilities: Tensor, limits: Tensor) -> Tensor:
        """No continuation up to `limits` pieces scores higher: the length penalty is greatest there, a log-probability
        only falls, and the coverage penalty is 0 at best."""
        return log_probabilities / length_penalty(limits, self.alpha, self.kind)
