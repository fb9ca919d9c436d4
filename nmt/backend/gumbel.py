"""Gumbel noise as a function of integers alone: equal on every backend, whatever else is in the batch."""

from __future__ import annotations

from typing import Any

from keras import ops

from nmt.backend import Tensor


def gumbel(numbers: Tensor, time: Tensor, rows: Any, columns: Any) -> Tensor:
    """Standard Gumbel noise, float32 [batch, rows, columns].

    A function of the sentence's number, the step, the row and the column alone; a stateful or batch-shaped generator
    would make it depend on batch mates.

    Args:
        numbers: of the sentences, uint32 [batch].
        time: of the step, integer scalar or [batch].
        rows, columns: numbers, or integer scalars.
    """
    each = _mixed(numbers ^ _mixed(ops.cast(time, "uint32") + 1))  # [batch]
    cells = _mixed(each[:, None] + _counted(rows) * 0x9E3779B9)  # [batch, rows]
    bits = _mixed(cells[:, :, None] + _counted(columns) * 0x85EBCA6B)
    return -ops.log(-ops.log(_uniform(bits)))


def _uniform(bits: Tensor) -> Tensor:
    """Between 0 and 1 and never one of them, float32. Of 24 bits and a half, the greatest would be rounded to 1."""
    return (ops.cast(ops.right_shift(bits, 9), "float32") + 0.5) * 2.0**-23


def _counted(count: Any) -> Tensor:
    return ops.cast(ops.arange(1, count + 1, dtype="int32"), "uint32")


def _mixed(bits: Tensor) -> Tensor:
    """A bijection of 32 bits in which every bit of the input sways every bit of the output: two rounds of
    multiplication and xor-shift, constants found by Wellons (2018, "Prospecting for hash functions")."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        bits = ops.bitwise_xor(bits, ops.right_shift(bits, shift)) * ops.cast(factor, "uint32")
    return ops.bitwise_xor(bits, ops.right_shift(bits, 16))
