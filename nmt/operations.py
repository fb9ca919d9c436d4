"""Rows by their numbers, places in rows, steps of a loop, loops in turn: where a backend's own way pays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from nmt.attention import Tensor


def take(values: Tensor, numbers: Tensor, axis: int = 0) -> Tensor:
    """What `keras.ops.take` gives for numbers that are not negative: looking for those makes five operations of one.

    Args:
        values: [..., n, ...], n at `axis`.
        numbers: integer of any shape, from 0 and under n.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.gather(values, numbers, axis=axis)
    return ops.take(values, numbers, axis=axis)


def take_within(values: Tensor, numbers: Tensor) -> Tensor:
    """From each row of `values` what its own row of `numbers` says.

    Args:
        values: [batch, n, ...].
        numbers: int32 [batch, any], from 0 and under n.

    Returns:
        [batch, any, ...].
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.gather(values, numbers, batch_dims=1)
    shape = ops.shape(values)
    rows = ops.arange(shape[0], dtype="int32")[:, None] * shape[1] + numbers
    return ops.take(ops.reshape(values, (-1, *shape[2:])), rows, axis=0)


def put_within(values: Tensor, numbers: Tensor, new: Tensor) -> Tensor:
    """`values` with one number of each row replaced.

    Args:
        values: [batch, n].
        numbers: which of each row, int32 [batch], from 0 and under n.
        new: what stands there then, [batch], of the type of `values`.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        # On a GPU it knows no such operation for half precision, and would send all values to the processor and back.
        if not tf.config.list_physical_devices("GPU"):
            places = tf.stack([tf.range(tf.shape(numbers)[0]), numbers], axis=1)
            return tf.tensor_scatter_nd_update(values, places, new)
    return ops.where(ops.arange(values.shape[1], dtype="int32") == numbers[:, None], new[:, None], values)


def room(longest: Tensor) -> Tensor:
    """For how many steps a tensor has places before the first, if `put_behind` is to write `longest` of them."""
    return 0 * longest if keras.backend.backend() == "tensorflow" else longest  # 0, but not known to be


def put_behind(past: Tensor, new: Tensor, time: Tensor) -> Tensor:
    """Writes one more step. On TensorFlow the tensor grows by it, for it need not be as long as the longest of all
    sentences may become, nor be written anew as long; a compiler that fixes shapes finds the room made at the start.

    Args:
        past: steps so far, [batch, heads, steps, width].
        new: the next one, [batch, heads, 1, width].
        time: its number from 0, int32 [batch].
    """
    if keras.backend.backend() == "tensorflow":
        return ops.concatenate([past, new], axis=2)
    places = ops.arange(ops.shape(past)[2], dtype="int32")
    return ops.where((places == time[:, None])[:, None, :, None], new, past)


def loop_in_turn(condition: Callable[..., Tensor], body: Callable[..., Any], start: tuple[Tensor, ...]) -> Any:
    """`keras.ops.while_loop`, no round of which begins before the one before has ended. TensorFlow would begin ten at
    once where they need not wait, and hold what all of them compute."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.while_loop(condition, body, start, parallel_iterations=1)
    return ops.while_loop(condition, body, start)
