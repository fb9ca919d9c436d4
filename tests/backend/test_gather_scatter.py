"""Gathering rows and adding to rows, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from nmt.backend.gather_scatter import gather, gather_within, scatter_add

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather_along_an_axis(dtype: str, axis: int) -> None:
    values = RANDOM.integers(0, 9, (4, 5, 6)).astype(dtype)
    indices = RANDOM.integers(0, values.shape[axis], (2, 3)).astype(np.int32)
    np.testing.assert_array_equal(ops.convert_to_numpy(gather(values, indices, axis)), np.take(values, indices, axis))
    np.testing.assert_array_equal(ops.convert_to_numpy(gather(values, 2, axis)), np.take(values, 2, axis))


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 6), (4, 5, 2, 3), (0, 5), (1, 1)])
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_gather_within_each_row(backend: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of other backends is written in `keras.ops`, so it runs on TensorFlow too."""
    monkeypatch.setattr("keras.backend.backend", lambda: backend)
    values = RANDOM.normal(size=shape)
    indices = RANDOM.integers(0, shape[1], (shape[0], 7)).astype(np.int32)
    expected = values[np.arange(shape[0])[:, None], indices]
    np.testing.assert_allclose(ops.convert_to_numpy(gather_within(values, indices)), expected, rtol=1e-6)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_scatter_add_sums_rows_of_one_index(backend: str, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keras.backend.backend", lambda: backend)
    values, rows = RANDOM.normal(size=(6, 3)).astype(np.float32), RANDOM.normal(size=(4, 3)).astype(np.float32)
    indices = np.array([0, 5, 2, 2], np.int32)
    expected = 2 * values
    np.add.at(expected, indices, rows)

    def compute() -> Any:
        given, *where = map(ops.convert_to_tensor, (values, indices, rows))
        return scatter_add(given + given, *where)

    found = tf.function(compute)() if compiled else compute()
    np.testing.assert_allclose(ops.convert_to_numpy(found), expected, rtol=1e-6)
