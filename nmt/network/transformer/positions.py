"""Encodings of positions, sinusoidal or learned."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from nmt.backend import Tensor


class Positions(keras.layers.Layer):
    """Adds an encoding of its position to each vector of a sequence.

    Args:
        kind: "sinusoidal" or "learned".
        longest: number of learned encodings; positions after the last one share its encoding.
    """

    def __init__(self, kind: str, longest: int, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.kind, self.longest = kind, longest

    def build(self, values_shape: tuple) -> None:
        if self.kind == "learned":
            shape = (self.longest, values_shape[-1])
            self.table = self.add_weight(shape=shape, initializer="random_normal", autocast=False, name="table")
        self.built = True

    def call(self, values: Tensor, positions: Tensor) -> Tensor:
        """Sums of values and encodings, in the compute type.

        Args:
            values: [..., width].
            positions: integer, broadcastable to [...], from 0.
        """
        if self.kind == "learned":
            encodings = ops.take(self.table, ops.minimum(positions, self.longest - 1), axis=0)
        else:
            encodings = sinusoids(positions, values.shape[-1])
        return ops.cast(values, self.compute_dtype) + ops.cast(encodings, self.compute_dtype)


def sinusoids(positions: Tensor, width: int) -> Tensor:
    """Sines and cosines of positions, at wavelengths from 2 pi to 10,000 * 2 pi (Vaswani et al. 2017, section 3.5).

    Args:
        positions: numbers from 0, [...].
        width: an even number.

    Returns:
        float32 [..., width]. Feature 2i is the sine of position / 10000^(2i / width), feature 2i + 1 its cosine.
    """
    rates = (10000.0 ** (-np.arange(0, width, 2) / width)).astype(np.float32)
    angles = ops.cast(positions, "float32")[..., None] * rates
    pairs = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)
    return ops.reshape(pairs, (*ops.shape(angles)[:-1], width))
