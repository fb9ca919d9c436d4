"""Random bytes: uniform, and new with each draw."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from nmt.backend.random_bytes import random_bytes

RANDOM = np.random.default_rng(3)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(), (5,), (3, 7), (2, 3, 8)])
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_bytes_are_uniform_and_new_with_each_draw(
    backend: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = keras.random.SeedGenerator(5)
    monkeypatch.setattr("keras.backend.backend", lambda: backend)
    drawn = np.stack([random_bytes(tf.zeros(shape), generator) for _ in range(600)])
    assert (drawn.dtype, drawn.shape) == (np.uint8, (600, *shape))
    assert drawn.mean(axis=0) == pytest.approx(127.5, abs=15)  # five standard deviations
    assert drawn.std(axis=0) == pytest.approx(73.9, abs=10)
