"""The greatest of many values, and the logarithm of the sum of their exponentials, fast on a CPU."""

from __future__ import annotations

from math import isqrt

import numpy as np
from keras import ops

from nmt.backend import Tensor
from nmt.backend.gather_scatter import gather_within

BLOCK = 16
"""Values of the smallest blocks."""


def top_k(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k greatest of the last axis and where they stand, as `keras.ops.top_k` gives them: the greatest first, and of
    equal ones the first.

    That goes over all values with a heap. Here the axis is cut into blocks: those with the k greatest maxima hold all
    that is wanted, and finding maxima is quick.

    Args:
        values: [..., n]; an n that is not known when the search is compiled is a multiple of `BLOCK`, at least k of
            them.
        k: at most n.
    """
    if len(values.shape) != 2:
        rows = ops.reshape(values, (-1, ops.shape(values)[-1]))
        shape = (*ops.shape(values)[:-1], k)
        return tuple(ops.reshape(found, shape) for found in top_k(rows, k))
    count = values.shape[-1]
    size = BLOCK if count is None else _block(count)
    if count is not None and k * size > count // 4:
        return ops.top_k(values, k)
    rows = _blocks(values, size)
    _, blocks = ops.top_k(ops.max(rows, axis=-1), k)  # [rows, k]
    # In their order, so that of equal values the first stays the first.
    blocks = -ops.top_k(-ops.cast(blocks, "int32"), k)[0]
    candidates = ops.reshape(gather_within(rows, blocks), (-1, k * size))
    found, places = ops.top_k(candidates, k)
    places = ops.cast(places, "int32")
    return found, gather_within(blocks, places // size) * size + places % size


def _block(count: int) -> int:
    """Size of the blocks that so many values are cut into."""
    # Where a size divides the axis, nothing has to be copied.
    sizes = [size for size in range(BLOCK, 257) if count % size == 0] or [isqrt(count)]
    return min(sizes, key=lambda size: abs(size - isqrt(count)))


def log_sum(values: Tensor) -> Tensor:
    """ln(sum(exp(values))) over the last axis, which stays: float32 [rows, n] -> [rows, 1].

    It is any value less the logarithm of its softmax; that of the greatest cannot underflow. A softmax is one quick
    pass, a log-softmax several.
    """
    greatest, share = (ops.max(each, axis=-1, keepdims=True) for each in (values, ops.softmax(values, axis=-1)))
    return greatest - ops.log(share)


def _blocks(values: Tensor, size: int) -> Tensor:
    """[rows, n] -> [rows, blocks, size]; where n is no multiple of it, a copy whose last block ends in -inf."""
    count = ops.shape(values)[-1]
    if values.shape[-1] is not None and count % size:
        values = ops.pad(values, ((0, 0), (0, -count % size)), constant_values=-np.inf)
        count = values.shape[-1]
    return ops.reshape(values, (-1, count // size, size))
