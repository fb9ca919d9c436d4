"""The capabilities of the Keras backend in use. Each function imports Keras."""

from __future__ import annotations

from nmt.backend import Tensor


def on_tensorflow(*values: Tensor) -> bool:
    """Whether TensorFlow's own operations can take these values.

    They can if TensorFlow is the backend and no value is a `keras.KerasTensor`. Keras builds functional models from
    these placeholders, and only Keras's operations accept them.
    """
    import keras

    placeholders = any(isinstance(value, keras.KerasTensor) for value in values)
    return keras.backend.backend() == "tensorflow" and not placeholders


def dynamic_shapes() -> bool:
    """Whether a compiled program takes tensors whose shape depends on values."""
    import keras

    return bool(keras.backend.backend() == "tensorflow")


def rounds_products() -> bool:
    """Whether a product in half precision is rounded exactly where the program asks for it. XLA may skip roundings."""
    import keras

    return bool(keras.backend.backend() == "tensorflow")


def batch_shapes(setting: int) -> int:
    """The number of shapes that batches may have; 0 for any number.

    JAX compiles a program for each shape, so it gets 24 shapes if the setting is 0.
    """
    import keras

    return setting or (24 if keras.backend.backend() == "jax" else 0)
