"""Shapes that are known only when a program runs."""

from __future__ import annotations

from keras import ops

from nmt.backend import Tensor
from nmt.backend.capabilities import on_tensorflow


def reshape_like(values: Tensor, pattern: Tensor) -> Tensor:
    """Reshapes the values to the shape of `pattern`, which has as many values.

    Keras reads each length by itself and joins them again: a dozen operations where TensorFlow needs two.
    """
    if on_tensorflow(values, pattern):
        import tensorflow as tf

        return tf.reshape(values, tf.shape(pattern))
    return ops.reshape(values, (-1, *ops.shape(pattern)[1:]))


def axis_length(values: Tensor, axis: int) -> Tensor:
    """The length of one axis. `keras.ops.shape` reads the lengths of all axes."""
    if values.shape[axis] is None and on_tensorflow(values):
        import tensorflow as tf

        return tf.shape(values)[axis]
    return ops.shape(values)[axis]
