"""Compiled functions: one trace for all shapes, variables read once per call, unknown backends refused; seeds."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nmt.backend.compiling import compile_function, snapshot
from nmt.backend.determinism import set_determinism
from nmt.backend.errors import BackendError


def test_one_trace_serves_all_shapes() -> None:
    traces = []

    def double(values: Any, other: Any) -> Any:
        traces.append(None)
        return 2 * values + keras.ops.sum(other)

    compiled = compile_function(double)
    random = np.random.default_rng(0)
    for rows, columns in random.integers(1, 30, (20, 2)):
        array = random.normal(size=(rows, columns)).astype(np.float32)
        np.testing.assert_allclose(compiled(array, array[0]), 2 * array + array[0].sum(), rtol=1e-4, atol=1e-4)
    assert len(traces) == 1


def test_a_snapshot_reads_weights_once_per_call_and_outside_of_loops() -> None:
    weight, bodies = keras.Variable(2.0), []

    def multiply(n: Any, value: Any) -> Any:
        bodies.append(tf.compat.v1.get_default_graph())
        return n + 1, value * weight

    def powers(start: Any) -> Any:
        with snapshot([weight]):
            return keras.ops.while_loop(lambda n, _: n < 3, multiply, (0, start))[1]

    traced = tf.function(powers).get_concrete_function(tf.TensorSpec([], tf.float32))
    assert traced(tf.constant(1.0)) == 8
    weight.assign(3.0)
    assert traced(tf.constant(1.0)) == 27
    loop = {operation.type for operation in bodies[0].get_operations()}
    assert "Mul" in loop
    assert "ReadVariableOp" not in loop


def test_another_backend_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keras.backend.backend", lambda: "torch")
    with pytest.raises(BackendError, match="the Keras backend is torch: expected tensorflow or jax"):
        compile_function(len)


def test_a_seed_decides_the_random_draws() -> None:
    def draw(seed: int) -> tuple[np.ndarray, float]:
        set_determinism(seed, deterministic=False)
        return np.asarray(keras.random.normal((4,))), float(np.random.random())

    np.testing.assert_array_equal(draw(3)[0], draw(3)[0])
    assert draw(3)[1] == draw(3)[1]
    assert np.abs(draw(3)[0] - draw(4)[0]).max() > 1e-3
