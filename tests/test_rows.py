"""Rows by their numbers, against NumPy's indexing."""

from __future__ import annotations

import numpy as np
import pytest
from keras import ops

from nmt.rows import take, take_within

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows_along_an_axis(dtype: str, axis: int) -> None:
    values = RANDOM.integers(0, 9, (4, 5, 6)).astype(dtype)
    numbers = RANDOM.integers(0, values.shape[axis], (2, 3)).astype(np.int32)
    np.testing.assert_array_equal(ops.convert_to_numpy(take(values, numbers, axis)), np.take(values, numbers, axis))
    np.testing.assert_array_equal(ops.convert_to_numpy(take(values, 2, axis)), np.take(values, 2, axis))


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 6), (4, 5, 2, 3), (0, 5), (1, 1)])
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_each_row_s_own(backend: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """What other backends do is written in `keras.ops`, so it can be tried here."""
    monkeypatch.setattr("nmt.rows.keras.backend.backend", lambda: backend)
    values = RANDOM.normal(size=shape)
    numbers = RANDOM.integers(0, shape[1], (shape[0], 7)).astype(np.int32)
    expected = values[np.arange(shape[0])[:, None], numbers]
    np.testing.assert_allclose(ops.convert_to_numpy(take_within(values, numbers)), expected, rtol=1e-6)
