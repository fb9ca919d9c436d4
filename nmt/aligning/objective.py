"""What the aligner minimises: the surprise of both directions, and their disagreement."""

from __future__ import annotations

from typing import Any

from keras import ops

from nmt.backend import Tensor
from nmt.text.pieces import PAD

EMPTY_AGREES = 0.1
"""Share of the empty word's posterior that counts as agreement; the other direction says nothing about such words."""
LEAST = 1e-6
"""Keeps the logarithm finite where both directions disagree completely."""


def alignment_loss(batch: Any, directions: Any, agreement: Tensor) -> Tensor:
    """Mean negative log-likelihood of the words of each side, plus the weighted disagreement, in nats.

    Args:
        batch: a `PairBatch`.
        directions: the two `Direction`s of the network.
        agreement: the weight of the disagreement.
    """
    real = [ops.cast(side[0] != PAD, "float32") for side in reversed(batch)]  # of target and source
    surprise = sum(-_mean(each[0], mask) for each, mask in zip(directions, real, strict=True))
    forward, backward = (each[1] for each in directions)
    return surprise + agreement * _disagreement(forward, backward, *real)


def _disagreement(forward: Tensor, backward: Tensor, of_target: Tensor, of_source: Tensor) -> Tensor:
    """Minus the log-probability that both directions draw the same link for a word (Liang et al. 2006, in spirit)."""
    both = forward[:, :, 1:] * ops.transpose(backward[:, :, 1:], (0, 2, 1))  # [sentences, target, source words]
    rows = ops.sum(both, axis=2) + EMPTY_AGREES * forward[:, :, 0] + LEAST
    columns = ops.sum(both, axis=1) + EMPTY_AGREES * backward[:, :, 0] + LEAST
    return -_mean(ops.log(rows), of_target) - _mean(ops.log(columns), of_source)


def _mean(values: Tensor, mask: Tensor) -> Tensor:
    return ops.sum(values * mask) / ops.maximum(ops.sum(mask), 1.0)
