"""Recurrences with their gradients, and loops whose iterations wait for each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from nmt.backend.loops import scan, sequential_while_loop

RANDOM = np.random.default_rng(3)


class Sums(NamedTuple):
    total: Any
    last: Any


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_scan_is_a_recurrence_with_its_gradient(backend: str, reverse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """total_t = factor total_{t-1} + a_t b_t; with TensorFlow's loop the length is unknown while tracing."""
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
    positions = range(4)[::-1] if reverse else range(4)
    expected, derivative, total, by_total = np.zeros((4, 3)), 0.0, np.zeros(3), np.zeros(3)
    for position in positions:
        total, by_total = 0.5 * total + first[position] * second[position], total + 0.5 * by_total
        expected[position] = total
        derivative += by_total.sum()
    following = [4 - position if not reverse else position + 1 for position in range(4)]  # steps whose total it enters
    weights = np.array([sum(0.5**n for n in range(count)) for count in following])
    np.testing.assert_allclose(totals, expected, rtol=1e-5)
    np.testing.assert_allclose(by_first, weights[:, None] * second, rtol=1e-5)
    np.testing.assert_allclose(by_second, weights[:, None] * first, rtol=1e-5)
    np.testing.assert_allclose(by_factor, derivative, rtol=1e-5)


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_sequential_loop_runs_one_iteration_at_a_time(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 + 2 + 3 + 4, and the program's loop allows TensorFlow one iteration at a time."""
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
