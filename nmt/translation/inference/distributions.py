"""Distributions over the next piece: averages of several models, and corrections of rounded logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from nmt.backend import ops

Averaging = Literal["probability", "log_probability"]
"""The mean of the models' probabilities, or their geometric mean, normalised."""


def averaged(log_probabilities: Sequence[Any], averaging: Averaging) -> Any:
    """The average of several models' distributions, log-probabilities [..., vocabulary]."""
    if len(log_probabilities) == 1:
        return log_probabilities[0]
    stacked = ops.stack(log_probabilities)
    if averaging == "probability":
        return ops.logsumexp(stacked, axis=0) - float(np.log(len(log_probabilities)))
    return ops.log_softmax(ops.mean(stacked, axis=0), axis=-1)


def mean(values: Sequence[Any]) -> Any:
    """The mean of tensors of equal shape; a single tensor is returned as it is."""
    return values[0] if len(values) == 1 else ops.mean(ops.stack(values), axis=0)


def unrounded(log_probabilities: Any, lost: Any) -> Any:
    """Log-probabilities of a few pieces, corrected by the digits that rounding took from their logits.

    Rounding swaps near-ties among probable pieces, which costs BLEU; rounding the factors does not. The correction is
    exact if the other pieces have almost no probability.

    Args:
        log_probabilities: of these pieces, from rounded logits, float32 [rows, pieces].
        lost: the pieces' `Seq2Seq.rounding_errors`, float32 [rows, pieces].
    """
    gained = ops.sum(ops.exp(log_probabilities) * ops.expm1(lost), axis=-1, keepdims=True)  # of the sum over all pieces
    return log_probabilities + lost - ops.log1p(gained)
