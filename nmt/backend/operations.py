"""Rows by their numbers, shapes, random bytes, gradients, loops in turn: where a backend's own way pays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor


def _tensorflow(*values: Tensor) -> bool:
    """Whether TensorFlow's own operations can take these: it is the backend, and none is a placeholder, of which Keras
    makes functional models and which Keras's operations alone take."""
    placeholders = any(isinstance(value, keras.KerasTensor) for value in values)
    return keras.backend.backend() == "tensorflow" and not placeholders


def take(values: Tensor, numbers: Tensor, axis: int = 0) -> Tensor:
    """What `keras.ops.take` gives for numbers that are not negative: looking for those makes five operations of one.

    Args:
        values: [..., n, ...], n at `axis`.
        numbers: integer of any shape, from 0 and under n.
    """
    if _tensorflow(values, numbers):
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
    if _tensorflow(values, numbers):
        import tensorflow as tf

        return tf.gather(values, numbers, batch_dims=1)
    shape = ops.shape(values)
    rows = ops.arange(shape[0], dtype="int32")[:, None] * shape[1] + numbers
    return ops.take(ops.reshape(values, (-1, *shape[2:])), rows, axis=0)


def add_to_rows(values: Tensor, numbers: Tensor, rows: Tensor) -> Tensor:
    """`values` with rows added to some of theirs, those of the same number all. Nobody may read `values` afterwards.

    Args:
        values: [n, width].
        numbers: int32 [any], from 0 and under n.
        rows: [any, width].
    """
    if not _tensorflow(values, numbers, rows):
        return values + ops.segment_sum(rows, numbers, num_segments=values.shape[0])
    import tensorflow as tf

    # Eagerly the caller may still hold `values`, and on a GPU rows of the same number may be lost.
    if tf.executing_eagerly() or tf.config.list_physical_devices("GPU"):
        return tf.tensor_scatter_nd_add(values, numbers[:, None], rows)
    # In place: the other operation copies all values first.
    return tf.raw_ops.InplaceAdd(x=values, i=numbers, v=rows)


def shaped_like(values: Tensor, pattern: Tensor) -> Tensor:
    """The values in the shape of `pattern`, which has as many. Keras asks for each length by itself and puts them
    together again: a dozen operations where TensorFlow needs two."""
    if _tensorflow(values, pattern):
        import tensorflow as tf

        return tf.reshape(values, tf.shape(pattern))
    return ops.reshape(values, (-1, *ops.shape(pattern)[1:]))


def with_gradient(forward: Callable[..., tuple[Any, Callable[..., Any]]], *values: Tensor) -> Any:
    """What `forward` makes of the values, with the gradient that it gives beside. JAX finds the gradient itself: its
    compiler makes as much of that, and it lets no such function read tensors that are not its arguments."""
    if _tensorflow(*values):
        import tensorflow as tf

        # Variables would have to be told apart from the arguments that they are.
        return tf.custom_gradient(forward)(*map(tf.convert_to_tensor, values))
    return forward(*values)[0]


def length(values: Tensor, axis: int) -> Tensor:
    """How long an axis is; asked of that axis alone, where Keras asks of all."""
    if values.shape[axis] is None and _tensorflow(values):
        import tensorflow as tf

        return tf.shape(values)[axis]
    return ops.shape(values)[axis]


def plus(left: Tensor, right: Tensor) -> Tensor:
    """The sum of two tensors of the same shape; TensorFlow's way back need not ask whether it is the same."""
    if _tensorflow(left, right):
        import tensorflow as tf

        return tf.add_n([left, right])
    return left + right


def matrix_products(left: Tensor, right: Tensor, turned: bool = False) -> Tensor:
    """left @ right of many matrices, as many on both sides; TensorFlow's way back need not ask whether they are.

    Args:
        left: [..., rows, inner].
        right: [..., inner, columns], or [..., columns, inner] to be turned.
    """
    if _tensorflow(left, right):
        import tensorflow as tf

        return tf.raw_ops.BatchMatMul(x=left, y=right, adj_x=False, adj_y=turned)
    return ops.matmul(left, ops.swapaxes(right, -1, -2) if turned else right)


def random_bytes(pattern: Tensor, generator: keras.random.SeedGenerator) -> Tensor:
    """As many bytes as `pattern` has values, uint8 in its shape. One random number makes four of them, since drawing is
    most of what dropout costs on a CPU."""
    if _tensorflow(pattern):
        import tensorflow as tf

        shape, size = tf.shape(pattern), tf.size(pattern)
        words = tf.raw_ops.StatelessRandomUniformFullInt(shape=[(size + 3) // 4], seed=generator.next(), dtype=tf.int32)
        drawn = tf.bitcast(words, tf.uint8)
        if pattern.shape.rank and pattern.shape[-1] and pattern.shape[-1] % 4 == 0:  # nothing is left over
            return tf.reshape(drawn, shape)
        return tf.reshape(tf.reshape(drawn, [-1])[:size], shape)
    shape = ops.shape(pattern)
    count = math.prod(shape)
    words = keras.random.randint(((count + 3) // 4, 1), -(2**31), 2**31 - 1, dtype="int32", seed=generator)
    return ops.reshape(ops.reshape(ops.view(words, "uint8"), (-1,))[:count], shape)


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


def scan(
    step: Callable[[Any, Any], Any],
    start: Any,
    inputs: Any,
    kept: Callable[[Any], Any] = lambda state: state,
    reverse: bool = False,
) -> Any:
    """A recurrence: state_t = step(state_{t-1}, inputs_t).

    On TensorFlow a loop of its own: Keras's wants all inputs in one tensor where their number is not known, and keeps
    the state in arrays of one place, which the way back reads, writes and fills with zeros at each step.

    Args:
        step: makes a state, of the structure, shapes and types of `start`.
        start: state before the first step, a structure of tensors.
        inputs: a structure of tensors [steps, ...].
        kept: picks of a state what is wanted.
        reverse: from the last inputs to the first; what is returned stands in the order of the inputs.

    Returns:
        What was kept of the states after each step, [steps, ...].
    """
    if _tensorflow(*keras.tree.flatten(inputs)):
        return _scan_in_tensorflow(step, start, inputs, kept, reverse)

    def body(state: Any, inputs: Any) -> tuple[Any, Any]:
        state = step(state, inputs)
        return state, state

    return kept(ops.scan(body, start, inputs, reverse=reverse)[1])


def _scan_in_tensorflow(step: Callable, start: Any, inputs: Any, kept: Callable, reverse: bool) -> Any:
    import tensorflow as tf

    flat = keras.tree.flatten(inputs)
    fixed = [tf.stop_gradient(values) for values in flat]  # their gradients come by way of what was read
    steps = tf.shape(flat[0])[0]

    def array(values: Tensor, shape: Any) -> Any:
        return tf.TensorArray(values.dtype, steps, element_shape=shape)

    def body(index: Tensor, state: Any, read: list[Tensor], written: list[Any]) -> tuple[Any, ...]:
        place = steps - 1 - index if reverse else index
        given = [_row(values, place, reads) for values, reads in zip(fixed, read, strict=True)]
        state = step(state, keras.tree.pack_sequence_as(inputs, [row for row, _ in given]))
        for values, first in zip(keras.tree.flatten(state), keras.tree.flatten(start), strict=True):
            values.set_shape(first.shape)  # a length that is known before the loop is known in it
        new = keras.tree.flatten(kept(state))
        written = [array.write(place, row) for array, row in zip(written, new, strict=True)]
        return index + 1, state, [reads for _, reads in given], written

    written = [array(values, values.shape) for values in keras.tree.flatten(kept(start))]
    first = tf.constant(0), start, [_reads(values) for values in flat], written
    *_, written = tf.while_loop(lambda index, *_: index < steps, body, first, parallel_iterations=1)
    return keras.tree.pack_sequence_as(kept(start), [array.stack() for array in written])


def _reads(values: Tensor) -> Tensor:
    """An empty list that stands for `values` [steps, ...] in a loop of TensorFlow's which reads each row once: its
    gradient is the list of the rows' gradients. Left to TensorFlow, the loop would copy each row into a list before
    it, fill such a list with zeros on the way back, and add each gradient to it."""
    import tensorflow as tf

    @tf.custom_gradient
    def begin(values: Tensor) -> tuple[Tensor, Any]:
        shape = tf.constant([-1 if length is None else length for length in values.shape[1:]], tf.int32)
        reads = tf.raw_ops.TensorListReserve(
            element_shape=shape, num_elements=tf.shape(values)[0], element_dtype=values.dtype
        )
        return reads, lambda by_reads: tf.raw_ops.TensorListStack(
            input_handle=by_reads, element_shape=shape, element_dtype=values.dtype
        )

    return begin(values)


def _row(values: Tensor, place: Tensor, reads: Tensor) -> tuple[Tensor, Tensor]:
    """The row of `values` at `place`, and `reads` as the next step is to find it."""
    import tensorflow as tf

    @tf.custom_gradient
    def read(reads: Tensor) -> tuple[tuple[Tensor, Tensor], Any]:
        def gradient(by_row: Tensor, by_reads: Tensor) -> Tensor:
            return tf.raw_ops.TensorListSetItem(input_handle=by_reads, index=place, item=by_row)

        return (values[place], tf.identity(reads)), gradient

    return read(reads)


def loop_in_turn(condition: Callable[..., Tensor], body: Callable[..., Any], start: tuple[Tensor, ...]) -> Any:
    """`keras.ops.while_loop`, no round of which begins before the one before has ended. TensorFlow would begin ten at
    once where they need not wait, and hold what all of them compute."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.while_loop(condition, body, start, parallel_iterations=1)
    return ops.while_loop(condition, body, start)
