"""Label-smoothed cross-entropy of logits."""

from __future__ import annotations

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.text.pieces import PAD

SMALLEST_PROBABILITY = 1e-20
"""Lower bound of a probability or an attention weight before its logarithm is taken, so that the logarithm is
finite."""

SMALLEST_NORMAL_FLOAT16 = 2.0**-14
"""The smallest number that float16 holds at full relative precision."""


def token_losses(logits: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy with label smoothing (Szegedy et al. 2016, section 7).

    The target distribution gives each of the V pieces smoothing / V, and the right piece another 1 - smoothing.

    Args:
        logits: [..., vocabulary]; the loss is computed in float32.
        targets: right pieces, integer [...].
        smoothing: probability that is spread evenly over the vocabulary.

    Returns:
        float32 [...], in nats; zero where the target is padding.
    """
    logits = ops.cast(logits, "float32")
    probabilities, mean_logit = ops.softmax(logits, axis=-1), ops.mean(logits, axis=-1)
    losses = losses_from_softmax(logits, probabilities, targets, smoothing, mean_logit)
    return ops.where(targets != PAD, losses, 0.0)


def losses_from_softmax(
    logits: Tensor, probabilities: Tensor, targets: Tensor, smoothing: float, mean_logit: Tensor
) -> Tensor:
    """`token_losses` where the softmax is known already; values at padding are meaningless.

    The loss is ln(sum exp(logits)) - (1 - smoothing) * logit of the right piece - smoothing * mean logit.

    Args:
        logits, probabilities: logits and their softmax, [..., vocabulary], of one type.
        targets: right pieces, integer [...].
        smoothing: as in `token_losses`.
        mean_logit: mean over the vocabulary, float32 [...].

    Returns:
        float32 [...], in nats.
    """
    logit, probability = (
        ops.cast(ops.take_along_axis(values, targets[..., None], axis=-1)[..., 0], "float32")
        for values in (logits, probabilities)
    )

    def from_right_piece() -> Tensor:
        return logit - ops.log(ops.maximum(probability, SMALLEST_PROBABILITY))

    def from_most_probable_piece() -> Tensor:
        logit, probability = (ops.cast(ops.max(values, axis=-1), "float32") for values in (logits, probabilities))
        return logit - ops.log(probability)

    # ln(sum exp) is the logit of any piece minus the logarithm of its probability. The right piece is at hand, but its
    # probability may have underflowed. Then the most probable piece takes its place.
    is_float16 = keras.backend.standardize_dtype(probabilities.dtype) == "float16"
    smallest = SMALLEST_NORMAL_FLOAT16 if is_float16 else SMALLEST_PROBABILITY
    precise = ops.all(ops.logical_or(probability > smallest, targets == PAD))
    normalizer = ops.cond(precise, from_right_piece, from_most_probable_piece)
    return normalizer - (1 - smoothing) * logit - smoothing * mean_logit


def count_tokens(targets: Tensor) -> Tensor:
    """Number of tokens without padding, the divisor of the mean loss: a float32 scalar, at least 1."""
    return ops.maximum(ops.sum(ops.cast(targets != PAD, "float32")), 1.0)
