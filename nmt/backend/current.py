"""The backend that Keras uses now."""

from __future__ import annotations

import keras

from nmt.backend import Tensor


def on_tensorflow(*values: Tensor) -> bool:
    """Whether TensorFlow's own operations can take these values.

    They can if TensorFlow is the backend and no value is a `keras.KerasTensor`. Keras builds functional models from
    these placeholders, and only Keras's operations accept them.
    """
    placeholders = any(isinstance(value, keras.KerasTensor) for value in values)
    return keras.backend.backend() == "tensorflow" and not placeholders
