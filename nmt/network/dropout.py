"""Dropout."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.gradients import with_gradient
from nmt.backend.random_bytes import random_bytes


@keras.saving.register_keras_serializable("nmt")
class Dropout(keras.layers.Layer):
    """Sets random values to zero in training and scales the others, so that the mean stays (Srivastava et al. 2014).

    One random byte decides about each value, so the rate is rounded to a multiple of 1/256. Drawing bytes is faster
    than drawing floating-point numbers.

    Args:
        rate: share of the values that are set to zero, at least 0 and below 1.
        seed: seed of the masks.
    """

    def __init__(self, rate: float, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate, self.seed = rate, seed
        self.threshold = min(max(round(rate * 256), 1), 255) if rate else 0
        self.generator = keras.random.SeedGenerator(seed) if rate else None
        self.built = True

    def call(self, values: Tensor, training: bool = False) -> Tensor:
        """Values of any shape -> the same shape. Outside training the values stay unchanged."""
        if not training or not self.threshold:
            return values
        kept = random_bytes(values, self.generator) >= self.threshold
        zero, scale = (ops.cast(factor, values.dtype) for factor in (0.0, 256 / (256 - self.threshold)))
        factors = ops.where(kept, scale, zero)

        # The factors need no gradient. TensorFlow's gradient of a product would also compare the shapes of both sides.
        def forward(values: Tensor) -> tuple[Tensor, Any]:
            return values * factors, lambda upstream: upstream * factors

        return with_gradient(forward, values)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}
