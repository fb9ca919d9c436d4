"""Sums, products and shapes, against NumPy and in functional models."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

from nmt.backend.arithmetic import add_same_shape, batched_matmul
from nmt.backend.gradients import with_gradient
from nmt.backend.shapes import axis_length, reshape_like

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_shapes_sums_and_products(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keras.backend.backend", lambda: backend)
    left, right = (RANDOM.normal(size=shape).astype(np.float32) for shape in ((2, 5, 3, 4), (2, 5, 4, 6)))
    transposed = right.swapaxes(2, 3)
    np.testing.assert_allclose(batched_matmul(left, right), left @ right, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        batched_matmul(left, transposed, transpose_right=True), left @ right, rtol=1e-4, atol=1e-5
    )
    np.testing.assert_array_equal(add_same_shape(left, 2 * left), left + 2 * left)
    np.testing.assert_array_equal(reshape_like(left.reshape(-1, 4), left), left)
    assert [int(axis_length(left, axis)) for axis in (0, 2, -1)] == [2, 3, 4]


def test_functional_models_can_use_the_operations() -> None:
    """TensorFlow's operations refuse Keras's placeholders, so these get `keras.ops`."""
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
