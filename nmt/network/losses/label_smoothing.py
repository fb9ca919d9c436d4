"""Label-smoothed cross-entropy over the pieces of a vocabulary."""

from __future__ import annotations

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.text.pieces import PAD

TINY = 1e-20
"""Smallest probability or attention weight that a logarithm is taken of: that of what underflowed would be infinite."""

LEAST_OF_FLOAT16 = 2.0**-14
"""Its smallest number that is as exact as others."""


def token_losses(logits: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy with the right piece's probability 1 - smoothing + smoothing / V (Szegedy et al. 2016, section 7).

    Args:
        logits: [..., vocabulary]; computed in float32.
        targets: integer [...].
        smoothing: mass spread evenly over the whole vocabulary, the right piece included.

    Returns:
        float32 [...], in nats; zero where the target is padding.
    """
    logits = ops.cast(logits, "float32")
    losses = cross_entropy_from_softmax(
        logits, ops.softmax(logits, axis=-1), targets, smoothing, ops.mean(logits, axis=-1)
    )
    return ops.where(targets != PAD, losses, 0.0)


def cross_entropy_from_softmax(
    logits: Tensor, probabilities: Tensor, targets: Tensor, smoothing: float, mean_logit: Tensor
) -> Tensor:
    """`token_losses`, of padding anything, from logits, their softmax and their mean, in float32."""
    logit, probability = (
        ops.cast(ops.take_along_axis(values, targets[..., None], axis=-1)[..., 0], "float32")
        for values in (logits, probabilities)
    )

    def by_the_right_piece() -> Tensor:
        return logit - ops.log(ops.maximum(probability, TINY))

    def by_the_most_probable() -> Tensor:
        logit, probability = (ops.cast(ops.max(values, axis=-1), "float32") for values in (logits, probabilities))
        return logit - ops.log(probability)

    # ln(sum(exp)), which is any piece's logit less the logarithm of its probability, where that has not underflowed.
    least = TINY if keras.backend.standardize_dtype(probabilities.dtype) != "float16" else LEAST_OF_FLOAT16
    usual = ops.all(ops.logical_or(probability > least, targets == PAD))
    normalizer = ops.cond(usual, by_the_right_piece, by_the_most_probable)
    return normalizer - (1 - smoothing) * logit - smoothing * mean_logit


def count_tokens(targets: Tensor) -> Tensor:
    """Number of tokens that are not padding, float32, at least 1."""
    return ops.maximum(ops.sum(ops.cast(targets != PAD, "float32")), 1.0)
