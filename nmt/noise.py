"""Dropout, and noise that is a function of numbers: the same on every backend, whatever else is in the batch."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from nmt.operations import random_bytes, with_gradient

Tensor = Any


@keras.saving.register_keras_serializable("nmt")
class Dropout(keras.layers.Layer):
    """Sets values to zero at random in training and scales the others up to the same mean (Srivastava et al. 2014).

    A random byte decides about each value: the rate is rounded to a multiple of 1/256.

    Args:
        rate: share of the values, from 0 up to, not including, 1.
        seed: of the masks.
    """

    def __init__(self, rate: float, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate, self.seed = rate, seed
        self.dropped = min(max(round(rate * 256), 1), 255) if rate else 0
        self.generator = keras.random.SeedGenerator(seed) if rate else None
        self.built = True

    def call(self, values: Tensor, training: bool = False) -> Tensor:
        """The values, [...], as they are where nothing is dropped."""
        if not training or not self.dropped:
            return values
        kept = random_bytes(values, self.generator) >= self.dropped
        zero, scale = (ops.cast(factor, values.dtype) for factor in (0.0, 256 / (256 - self.dropped)))
        factors = ops.where(kept, scale, zero)

        # No gradient by the factors; of a plain product TensorFlow would also ask how the shapes were made alike.
        def forward(values: Tensor) -> tuple[Tensor, Any]:
            return values * factors, lambda upstream: upstream * factors

        return with_gradient(forward, values)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}


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
