"""Dropout, and noise that is a function of numbers: the same on every backend, whatever else is in the batch."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.gradients import with_gradient
from nmt.backend.random_bytes import random_bytes


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
