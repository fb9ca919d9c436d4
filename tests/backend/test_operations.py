"""Rows by their numbers, shapes and products, against NumPy; loops whose rounds wait for each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from nmt.backend.arithmetic import add_same_shape, batched_matmul
from nmt.backend.gather_scatter import gather, gather_within, scatter_add
from nmt.backend.gradients import with_gradient
from nmt.backend.loops import scan, sequential_while_loop
from nmt.backend.random_bytes import random_bytes
from nmt.backend.shapes import axis_length, reshape_like

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows_along_an_axis(dtype: str, axis: int) -> None:
    values = RANDOM.integers(0, 9, (4, 5, 6)).astype(dtype)
    numbers = RANDOM.integers(0, values.shape[axis], (2, 3)).astype(np.int32)
    np.testing.assert_array_equal(ops.convert_to_numpy(gather(values, numbers, axis)), np.take(values, numbers, axis))
    np.testing.assert_array_equal(ops.convert_to_numpy(gather(values, 2, axis)), np.take(values, 2, axis))


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 6), (4, 5, 2, 3), (0, 5), (1, 1)])
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_each_row_s_own(backend: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """What other backends do is written in `keras.ops`, so it can be tried here."""
    monkeypatch.setattr("keras.backend.backend", lambda: backend)
    values = RANDOM.normal(size=shape)
    numbers = RANDOM.integers(0, shape[1], (shape[0], 7)).astype(np.int32)
    expected = values[np.arange(shape[0])[:, None], numbers]
    np.testing.assert_allclose(ops.convert_to_numpy(gather_within(values, numbers)), expected, rtol=1e-6)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_rows_added_to_rows(backend: str, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keras.backend.backend", lambda: backend)
    values, rows = RANDOM.normal(size=(6, 3)).astype(np.float32), RANDOM.normal(size=(4, 3)).astype(np.float32)
    numbers = np.array([0, 5, 2, 2], np.int32)
    expected = 2 * values
    np.add.at(expected, numbers, rows)

    def compute() -> Any:
        given, *where = map(ops.convert_to_tensor, (values, numbers, rows))
        return scatter_add(given + given, *where)

    found = tf.function(compute)() if compiled else compute()
    np.testing.assert_allclose(ops.convert_to_numpy(found), expected, rtol=1e-6)


class Sums(NamedTuple):
    total: Any
    last: Any


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_recurrence_and_its_gradient(backend: str, reverse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """total_t = factor total_{t-1} + a_t b_t, of sequences whose length is not known where TensorFlow loops itself."""
    monkeypatch.setattr("keras.backend.backend", lambda: backend)
    first, second = RANDOM.normal(size=(2, 4, 3)).astype(np.float32)
    known = tf.TensorSpec([4 if backend == "jax" else None, 3])

    @tf.function(input_signature=[known, known, tf.TensorSpec([])], autograph=False)
    def run(first: Any, second: Any, factor: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([first, second, factor])

            def step(sums: Sums, given: list[Any]) -> Sums:
                return Sums(factor * sums.total + given[0] * given[1], given[0])

            zeros = ops.zeros((3,))
            totals = scan(step, Sums(zeros, zeros), [first, second], lambda sums: sums.total, reverse)
            whole = tf.reduce_sum(totals)
        return totals, *tape.gradient(whole, [first, second, factor])

    totals, by_first, by_second, by_factor = run(first, second, 0.5)
    places = range(4)[::-1] if reverse else range(4)
    expected, derivative, total, by_total = np.zeros((4, 3)), 0.0, np.zeros(3), np.zeros(3)
    for place in places:
        total, by_total = 0.5 * total + first[place] * second[place], total + 0.5 * by_total
        expected[place] = total
        derivative += by_total.sum()
    following = [4 - place if not reverse else place + 1 for place in range(4)]  # steps that it still counts in
    weights = np.array([sum(0.5**n for n in range(count)) for count in following])
    np.testing.assert_allclose(totals, expected, rtol=1e-5)
    np.testing.assert_allclose(by_first, weights[:, None] * second, rtol=1e-5)
    np.testing.assert_allclose(by_second, weights[:, None] * first, rtol=1e-5)
    np.testing.assert_allclose(by_factor, derivative, rtol=1e-5)


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_loop_in_turn_is_a_loop(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 + 2 + 3 + 4, in a program where TensorFlow is told to begin no round before its turn."""
    monkeypatch.setattr("keras.backend.backend", lambda: backend)

    def run() -> Any:
        zero = tf.constant(0)
        return sequential_while_loop(
            lambda index, _: index < 5, lambda index, total: (index + 1, total + index), (zero, zero)
        )

    program = tf.function(run).get_concrete_function()
    assert [int(value) for value in program()] == [5, 10]
    (loop,) = (node for node in program.graph.as_graph_def().node if "While" in node.op)
    assert (loop.attr["parallel_iterations"].i == 1) == (backend == "tensorflow")


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_shapes_sums_and_products(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keras.backend.backend", lambda: backend)
    left, right = (RANDOM.normal(size=shape).astype(np.float32) for shape in ((2, 5, 3, 4), (2, 5, 4, 6)))
    turned = right.swapaxes(2, 3)
    np.testing.assert_allclose(batched_matmul(left, right), left @ right, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(batched_matmul(left, turned, transpose_right=True), left @ right, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(add_same_shape(left, 2 * left), left + 2 * left)
    np.testing.assert_array_equal(reshape_like(left.reshape(-1, 4), left), left)
    assert [int(axis_length(left, axis)) for axis in (0, 2, -1)] == [2, 3, 4]


@pytest.mark.parametrize("shape", [(), (5,), (3, 7), (2, 3, 8)])
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_bytes_are_even_and_drawn_anew(backend: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    generator = keras.random.SeedGenerator(5)
    monkeypatch.setattr("keras.backend.backend", lambda: backend)
    drawn = np.stack([random_bytes(tf.zeros(shape), generator) for _ in range(600)])
    assert (drawn.dtype, drawn.shape) == (np.uint8, (600, *shape))
    assert drawn.mean(axis=0) == pytest.approx(127.5, abs=15)  # five deviations
    assert drawn.std(axis=0) == pytest.approx(73.9, abs=10)


def test_functional_models_are_made_of_them_too() -> None:
    """Their placeholders are Keras's, which TensorFlow's operations refuse."""
    given = keras.Input((3, 4))

    def twice(values: Any) -> Any:
        return with_gradient(lambda values: (2 * values, lambda upstream: 2 * upstream), values)

    made = [
        batched_matmul(given, given, transpose_right=True),
        add_same_shape(given, reshape_like(given, given)),
        twice(given),
    ]
    values = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    found = keras.Function([given], made)([values])
    for one, expected in zip(found, (values @ values.swapaxes(1, 2), 2 * values, 2 * values), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-5, atol=1e-5)
