"""Gumbel noise as a function of integers alone: equal on every backend, whatever else is in the batch."""

from __future__ import annotations

from typing import Any

from nmt.backend import Tensor, ops


def gumbel(seeds: Tensor, time: Tensor, rows: Any, columns: Any) -> Tensor:
    """Standard Gumbel noise, float32 [batch, rows, columns].

    The noise depends only on the sentence's seed, the step, the row and the column. With a generator that has a state,
    or draws for a whole batch, it would also depend on the other sentences of the batch.

    Args:
        seeds: one per sentence, uint32 [batch].
        time: the index of the step, an integer scalar or [batch].
        rows, columns: the lengths of the last two axes, integers or integer scalars.
    """
    by_sentence = _hash(seeds ^ _hash(ops.cast(time, "uint32") + 1))  # [batch]
    by_row = _hash(by_sentence[:, None] + _count_to(rows, seeds) * 0x9E3779B9)  # [batch, rows]
    bits = _hash(by_row[:, :, None] + _count_to(columns, seeds) * 0x85EBCA6B)  # [batch, rows, columns]
    return -ops.log(-ops.log(_uniform(bits)))


def _uniform(bits: Tensor) -> Tensor:
    """Float32 values strictly between 0 and 1 from the upper 23 bits.

    With 24 bits the largest value would round to 1, whose noise is infinite.
    """
    return (ops.cast(ops.right_shift(bits, 9), "float32") + 0.5) * 2.0**-23


def _count_to(count: Any, like: Tensor) -> Tensor:
    """1, 2, ..., count as uint32, in the library of `like`."""
    return ops.cast(ops.arange(1, count + 1, dtype="int32", like=like), "uint32")


def _hash(bits: Tensor) -> Tensor:
    """A bijection of 32-bit integers in which each input bit affects each output bit.

    Two rounds of xor-shift and multiplication, with the constants of Wellons (2018, "Prospecting for hash functions").
    """
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        bits = ops.bitwise_xor(bits, ops.right_shift(bits, shift)) * ops.cast(factor, "uint32")
    return ops.bitwise_xor(bits, ops.right_shift(bits, 16))
