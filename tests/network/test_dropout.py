"""Dropout: rate, scale, masks and gradients."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from nmt.network.dropout import Dropout


def dropped(layer: Dropout, values: np.ndarray) -> np.ndarray:
    return np.array(ops.convert_to_numpy(ops.cast(layer(values, training=True), "float32")))


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_the_rate_of_values_is_dropped_and_the_mean_stays(rate):
    found = dropped(Dropout(rate, seed=1), np.ones((200, 500), np.float32))
    assert (found == 0).mean() == pytest.approx(rate, abs=0.01)
    assert found.mean() == pytest.approx(1, abs=0.03)
    assert len(np.unique(found)) == 2


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 3, 5)])
def test_dropout_takes_any_shape(shape):
    layer = Dropout(0.5, seed=1)
    found = np.stack([dropped(layer, np.ones(shape, np.float32)) for _ in range(200)])
    assert found.shape == (200, *shape)
    assert (found == 0).mean(axis=0) == pytest.approx(0.5, abs=0.2)


def test_neighbouring_values_are_independent():
    """Four values share one random number. Two of them are dropped with the square of the rate."""
    gone = dropped(Dropout(0.5, seed=3), np.ones((4000, 8), np.float32)) == 0
    both = gone.astype(float).T @ gone / len(gone)
    np.testing.assert_allclose(both, np.where(np.eye(8), 0.5, 0.25), atol=0.03)


def test_each_call_draws_a_mask_that_the_seed_determines():
    layer, values = Dropout(0.5, seed=1), np.ones((20, 20), np.float32)
    first, second = dropped(layer, values), dropped(layer, values)
    assert (first != second).any()
    again = Dropout(0.5, seed=1)
    np.testing.assert_array_equal(dropped(again, values), first)
    np.testing.assert_array_equal(dropped(again, values), second)
    assert (dropped(Dropout(0.5, seed=2), values) != first).any()


def test_dropped_values_get_no_gradient_and_the_others_a_scaled_one():
    layer, values = Dropout(0.25, seed=1), tf.random.stateless_normal((30, 20), [1, 2])
    with tf.GradientTape() as tape:
        tape.watch(values)
        found = layer(values, training=True)
    by_values = tape.gradient(found, values).numpy()
    np.testing.assert_allclose(by_values, np.where(found == 0, 0, 4 / 3), rtol=1e-6)
    np.testing.assert_allclose(found, values * by_values, rtol=1e-6)


@pytest.mark.parametrize("rate", [0.001, 0.999])
def test_extreme_rates_drop_some_values_and_not_all(rate):
    found = dropped(Dropout(rate, seed=1), np.ones((300, 300), np.float32))
    assert 0 < (found == 0).mean() < 1


@pytest.mark.parametrize(("rate", "training"), [(0.0, True), (0.5, False)])
def test_values_stay_unchanged_without_a_rate_or_outside_training(rate, training):
    layer = Dropout(rate, seed=1)
    values = np.arange(6, dtype=np.float32)
    np.testing.assert_array_equal(layer(values, training=training), values)
    assert bool(layer.variables) == bool(rate)  # a layer without a rate has no state to save


def test_half_precision_stays_half_precision():
    layer = Dropout(0.5, seed=1, dtype="mixed_bfloat16")
    found = layer(ops.ones((4, 4), "bfloat16"), training=True)
    assert found.dtype == "bfloat16"
