"""The k greatest values of a row, and ln sum exp of a row, in forms that are fast on a CPU."""

from __future__ import annotations

from math import isqrt

import numpy as np

from nmt.backend import Tensor, ops
from nmt.backend.gather_scatter import gather_within

MINIMUM_BLOCK = 16
"""Number of values in the smallest blocks."""

CACHED = 8
"""Rows of a vocabulary that the processor's cache holds."""


def top_k(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k greatest values of the last axis and their indices, in descending order, as `keras.ops.top_k` gives them.
    Among equal values the first comes first.

    `keras.ops.top_k` maintains a heap over all values. This function cuts the axis into blocks and searches only the k
    blocks with the greatest maxima, which contain the k greatest values. Finding block maxima is fast.

    Args:
        values: [..., n]. An n that is unknown at compile time must be a multiple of `MINIMUM_BLOCK`, and at least k
            blocks.
        k: at most n.
    """
    if len(values.shape) != 2:
        rows = ops.reshape(values, (-1, ops.shape(values)[-1]))
        shape = (*ops.shape(values)[:-1], k)
        return tuple(ops.reshape(found, shape) for found in top_k(rows, k))
    if ops.is_numpy(values):  # searched by groups there
        return ops.top_k(values, k)
    count = values.shape[-1]
    size = MINIMUM_BLOCK if count is None else _block_size(count)
    if count is not None and k * size > count // 4:
        return ops.top_k(values, k)
    rows = _blocks(values, size)
    _, blocks = ops.top_k(ops.max(rows, axis=-1), k)  # [rows, k]
    # Ascending block numbers, so that the first of equal values stays the first.
    blocks = -ops.top_k(-ops.cast(blocks, "int32"), k)[0]
    candidates = ops.reshape(gather_within(rows, blocks), (-1, k * size))
    found, indices = ops.top_k(candidates, k)
    indices = ops.cast(indices, "int32")
    return found, gather_within(blocks, indices // size) * size + indices % size


def _block_size(count: int) -> int:
    """Block size for an axis of `count` values, near the square root of the count."""
    # A size that divides the axis needs no padded copy.
    sizes = [size for size in range(MINIMUM_BLOCK, 257) if count % size == 0] or [isqrt(count)]
    return min(sizes, key=lambda size: abs(size - isqrt(count)))


def log_sum_exp(values: Tensor) -> Tensor:
    """ln(sum(exp(values))) over the last axis, float32 [rows, n] -> [rows, 1].

    It equals any value minus the logarithm of its softmax, and the greatest softmax cannot underflow. A softmax takes
    one fast sweep over the values, a log-softmax takes several. NumPy has no such softmax, and takes rows that fit
    the processor's cache.
    """
    if ops.is_numpy(values):
        parts = [ops.logsumexp(values[first : first + CACHED], -1, True) for first in range(0, len(values), CACHED)]
        return parts[0] if len(parts) == 1 else ops.concatenate(parts)
    greatest, probability = (ops.max(each, axis=-1, keepdims=True) for each in (values, ops.softmax(values, axis=-1)))
    return greatest - ops.log(probability)


def _blocks(values: Tensor, size: int) -> Tensor:
    """Cuts rows into blocks: [rows, n] -> [rows, blocks, size]. If `size` does not divide n, -inf fills the last
    block."""
    count = ops.shape(values)[-1]
    if values.shape[-1] is not None and count % size:
        values = ops.pad(values, ((0, 0), (0, -count % size)), constant_values=-np.inf)
        count = values.shape[-1]
    return ops.reshape(values, (-1, count // size, size))
