"""What every attention mechanism ends in: a softmax over the positions that exist, and a weighted sum."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from keras import ops

from nmt.backend import Tensor
from nmt.backend.arithmetic import batched_matmul
from nmt.backend.gradients import with_gradient
from nmt.backend.shapes import reshape_like

MASKED = -1e9
"""Energy of a position that may not be attended to: far below any real energy, and finite, so that no gradient becomes
NaN."""


def masked_softmax(energies: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis, over the positions where `mask` is true.

    Args:
        energies: [..., positions], any float type; computed in float32.
        mask: boolean, broadcastable to `energies`.

    Returns:
        float32 [..., positions]: exactly zero where masked; each row sums to one, or is all zero where nothing is
        unmasked.
    """

    def forward(energies: Tensor) -> tuple[Tensor, Any]:
        with warnings.catch_warnings():
            # Of one position, which gets all of it: no mistake here.
            warnings.filterwarnings("ignore", message="You are using a softmax over axis")
            # Less than `MASKED`, which may be the energy of all that the mask leaves.
            weights = ops.softmax(ops.where(mask, ops.cast(energies, "float32"), 2 * MASKED), axis=-1)
        weights = ops.where(mask, weights, 0.0)

        # Of each step by itself TensorFlow would ask how mask and energies were made alike.
        def gradient(upstream: Tensor) -> Tensor:
            share = upstream * weights
            return ops.cast(share - weights * ops.sum(share, axis=-1, keepdims=True), energies.dtype)

        return weights, gradient

    return with_gradient(forward, energies)


def by_rows(function: Callable[[Tensor], Tensor], values: Tensor) -> Tensor:
    """What a function of matrices, [rows, width] -> [rows, units], makes of values [batch, ..., width]: [batch, ...,
    units].

    A product of values with more axes is, left to TensorFlow, a dozen operations about shapes, at each step of a
    recurrence.
    """
    rows = function(ops.reshape(values, (-1, values.shape[-1])))
    between = values.shape[1:-1]
    if None not in between:
        return ops.reshape(rows, (-1, *between, rows.shape[-1]))
    if rows.shape[-1] == values.shape[-1]:
        return reshape_like(rows, values)
    return ops.reshape(rows, (-1, *ops.shape(values)[1:-1], rows.shape[-1]))


def flat_product(values: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
    """values [batch, ..., width] @ kernel [width, units] -> [batch, ..., units], as one product of matrices; with a
    bias [units] TensorFlow adds it in the same operation."""
    if bias is None:
        return by_rows(lambda rows: ops.matmul(rows, kernel), values)
    return by_rows(lambda rows: ops.add(ops.matmul(rows, kernel), bias), values)


def product_in(dtype: str, values: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
    """`flat_product`, multiplied in `dtype`, and the bias added in float32, which the result is in too. Where that is
    one type TensorFlow adds it in the same operation, and where not, its gradient is still that of a bias, which takes
    half the time of other sums."""

    def product(rows: Tensor) -> Tensor:
        made = ops.cast(ops.matmul(rows, ops.cast(kernel, dtype)), "float32")
        return made if bias is None else ops.add(made, ops.cast(bias, "float32"))

    return by_rows(product, ops.cast(values, dtype))


def inner_products(queries: Tensor, keys: Tensor) -> Tensor:
    """Of every query with every key, [..., queries, width] and [..., positions, width] -> [..., queries, positions]."""
    if queries.shape[-2] == 1:
        # A step of a decoder: what is turned is kept for the way back, at every step, so it is the one query.
        return ops.swapaxes(ops.matmul(keys, ops.swapaxes(queries, -1, -2)), -1, -2)
    return batched_matmul(queries, keys, transpose_right=True)


def context_vectors(weights: Tensor, values: Tensor) -> Tensor:
    """Weighted sums of the values, c_i = sum_j alpha_ij h_j (Bahdanau et al. 2015, eq. 5).

    Args:
        weights: float32 [..., queries, positions].
        values: [..., positions, width], multiplied in their own type.

    Returns:
        float32 [..., queries, width].
    """
    return ops.cast(batched_matmul(ops.cast(weights, values.dtype), values), "float32")
