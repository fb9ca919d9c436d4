"""Loops over time: a recurrence (scan), and a while loop whose iterations run one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.capabilities import on_tensorflow


def scan(
    step: Callable[[Any, Any], Any],
    start: Any,
    inputs: Any,
    output: Callable[[Any], Any] = lambda state: state,
    reverse: bool = False,
) -> Any:
    """A recurrence: state_t = step(state_{t-1}, inputs_t).

    TensorFlow gets a loop written here. Keras's loop needs all inputs in one tensor if their number is unknown. It also
    keeps the state in arrays of length one, which the backward pass reads, writes and fills with zeros at each step.

    Args:
        step: returns the next state, with the structure, shapes and types of `start`.
        start: the state before the first step, a structure of tensors.
        inputs: a structure of tensors [steps, ...].
        output: selects the part of a state that is returned.
        reverse: runs from the last inputs to the first; the result keeps the order of the inputs.

    Returns:
        The outputs after each step, [steps, ...].
    """
    if on_tensorflow(*keras.tree.flatten(inputs)):
        return _scan_on_tensorflow(step, start, inputs, output, reverse)

    def body(state: Any, inputs: Any) -> tuple[Any, Any]:
        state = step(state, inputs)
        return state, state

    return output(ops.scan(body, start, inputs, reverse=reverse)[1])


def _scan_on_tensorflow(step: Callable, start: Any, inputs: Any, output: Callable, reverse: bool) -> Any:
    import tensorflow as tf

    flat = keras.tree.flatten(inputs)
    constants = [tf.stop_gradient(values) for values in flat]  # their gradients flow through the gradient lists
    steps = tf.shape(flat[0])[0]

    def body(index: Tensor, state: Any, lists: list[Tensor], written: list[Any]) -> tuple[Any, ...]:
        position = steps - 1 - index if reverse else index
        rows = [_read_row(values, position, each) for values, each in zip(constants, lists, strict=True)]
        state = step(state, keras.tree.pack_sequence_as(inputs, [row for row, _ in rows]))
        for values, first in zip(keras.tree.flatten(state), keras.tree.flatten(start), strict=True):
            values.set_shape(first.shape)  # lengths that are known before the loop are known inside it
        new = keras.tree.flatten(output(state))
        written = [array.write(position, row) for array, row in zip(written, new, strict=True)]
        return index + 1, state, [each for _, each in rows], written

    outputs = keras.tree.flatten(output(start))
    arrays = [tf.TensorArray(values.dtype, steps, element_shape=values.shape) for values in outputs]
    first = tf.constant(0), start, [_gradient_list(values) for values in flat], arrays
    *_, written = tf.while_loop(lambda index, *_: index < steps, body, first, parallel_iterations=1)
    return keras.tree.pack_sequence_as(output(start), [array.stack() for array in written])


def _gradient_list(values: Tensor) -> Tensor:
    """An empty list that collects the gradients of the rows of `values` [steps, ...] in a loop.

    The loop passes the list from step to step beside the values, see `_read_row`. The gradient of the list is the list
    of the rows' gradients, and the gradient of `values` is this list as one tensor. TensorFlow's own gradient is
    slower: it copies each row into a list before the loop. In the backward pass it fills a list with zeros and adds
    each gradient to it.
    """
    import tensorflow as tf

    @tf.custom_gradient
    def begin(values: Tensor) -> tuple[Tensor, Any]:
        shape = tf.constant([-1 if length is None else length for length in values.shape[1:]], tf.int32)
        empty = tf.raw_ops.TensorListReserve(
            element_shape=shape, num_elements=tf.shape(values)[0], element_dtype=values.dtype
        )
        return empty, lambda gradients: tf.raw_ops.TensorListStack(
            input_handle=gradients, element_shape=shape, element_dtype=values.dtype
        )

    return begin(values)


def _read_row(values: Tensor, position: Tensor, gradient_list: Tensor) -> tuple[Tensor, Tensor]:
    """The row of `values` at `position`, and the gradient list for the next step.

    In the backward pass the row's gradient is written into the list at the same position.
    """
    import tensorflow as tf

    @tf.custom_gradient
    def read(gradient_list: Tensor) -> tuple[tuple[Tensor, Tensor], Any]:
        def gradient(by_row: Tensor, gradients: Tensor) -> Tensor:
            return tf.raw_ops.TensorListSetItem(input_handle=gradients, index=position, item=by_row)

        return (values[position], tf.identity(gradient_list)), gradient

    return read(gradient_list)


def sequential_while_loop(condition: Callable[..., Tensor], body: Callable[..., Any], start: tuple[Tensor, ...]) -> Any:
    """`keras.ops.while_loop`, where each iteration begins after the one before it has ended.

    TensorFlow would run up to ten independent iterations at once, and hold the memory of all of them.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.while_loop(condition, body, start, parallel_iterations=1)
    return ops.while_loop(condition, body, start)
