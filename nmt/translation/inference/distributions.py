"""Distributions over the next piece: of several models together, and as if nothing had been rounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from keras import ops

Averaging = Literal["probability", "log_probability"]


def averaged(log_probabilities: Sequence[Any], averaging: Averaging) -> Any:
    """One distribution [..., vocabulary] out of several models': the mean of their probabilities, or the geometric
    mean, normalised."""
    if len(log_probabilities) == 1:
        return log_probabilities[0]
    stacked = ops.stack(log_probabilities)
    if averaging == "probability":
        return ops.logsumexp(stacked, axis=0) - float(np.log(len(log_probabilities)))
    return ops.log_softmax(ops.mean(stacked, axis=0), axis=-1)


def mean(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else ops.mean(ops.stack(values), axis=0)


def unrounded(log_probabilities: Any, lost: Any) -> Any:
    """Log-probabilities of a few pieces as if rounding had taken nothing from their logits; exact where hardly any
    probability is left for others.

    Rounding puts likely pieces that are close in the wrong order, which costs BLEU; that factors are rounded does not.

    Args:
        log_probabilities: of these pieces, from rounded logits, float32 [rows, any].
        lost: `Seq2Seq.rounding_errors` of them.
    """
    # What these gain is added to the sum over all.
    gained = ops.sum(ops.exp(log_probabilities) * ops.expm1(lost), axis=-1, keepdims=True)
    return log_probabilities + lost - ops.log1p(gained)
