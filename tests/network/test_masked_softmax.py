"""The masked softmax: values, masks and gradients."""

from __future__ import annotations

import warnings

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nmt.network.attention import MASKED_ENERGY, masked_softmax

ENERGIES = arrays(np.float32, (3, 4), elements=st.floats(-50, 50, width=32))
MASKS = arrays(bool, (3, 4))


def test_one_position_gets_all_attention_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = masked_softmax(np.array([[3.0]], np.float32), np.array([[True]]))
    np.testing.assert_array_equal(weights, [[1.0]])


@settings(max_examples=40, deadline=None)
@given(energies=ENERGIES, mask=MASKS)
def test_rows_sum_to_one_over_real_positions_and_are_zero_at_padding(energies: np.ndarray, mask: np.ndarray) -> None:
    weights = np.asarray(masked_softmax(energies, mask))
    assert (weights[~mask] == 0).all()
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), mask.any(axis=1).astype(float), atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(energies=ENERGIES, mask=MASKS, shift=st.floats(-20, 20, width=32))
def test_adding_a_constant_to_all_energies_changes_nothing(
    energies: np.ndarray, mask: np.ndarray, shift: float
) -> None:
    shifted = masked_softmax(energies + np.float32(shift), mask)
    np.testing.assert_allclose(shifted, masked_softmax(energies, mask), atol=2e-5)


def test_the_gradient_equals_the_gradient_of_the_plain_formula() -> None:
    """One row is masked as a whole, and one mask serves several rows."""
    random = np.random.default_rng(3)
    energies, upstream = random.normal(size=(2, 4, 3, 5, 7)).astype(np.float32)[:, :, 0]
    mask = random.random((4, 1, 7)) < 0.6
    mask[2] = False

    def plain(values: tf.Tensor) -> tf.Tensor:
        grown = tf.where(mask, tf.exp(values), 0.0)
        return grown / tf.maximum(tf.reduce_sum(grown, axis=-1, keepdims=True), 1e-30)

    found = []
    for function in (lambda values: masked_softmax(values, mask), plain):
        values = tf.constant(energies)
        with tf.GradientTape() as tape:
            tape.watch(values)
            loss = tf.reduce_sum(upstream * function(values))
        found.append((loss, tape.gradient(loss, values)))
    for ours, expected in zip(*found, strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-5)
    assert np.abs(found[0][1]).max() > 0.01


def test_the_weights_of_known_energies() -> None:
    energies, mask = np.log([[1.0, 2.0, 100.0, 5.0]]), np.array([[True, True, False, True]])
    np.testing.assert_allclose(masked_softmax(energies, mask), [[1 / 8, 2 / 8, 0, 5 / 8]], rtol=1e-6)


def test_a_masked_row_has_zero_weights_and_a_finite_gradient() -> None:
    energies = tf.constant([[1.0, -2.0, 3.0], [0.5, 1.5, 2.5]])
    mask = np.array([[False, False, False], [True, False, True]])
    with tf.GradientTape() as tape:
        tape.watch(energies)
        weights = masked_softmax(energies, mask)
        loss = tf.reduce_sum(weights * [[1.0, 2.0, 3.0], [3.0, 5.0, 7.0]])
    gradient = tape.gradient(loss, energies).numpy()
    assert not np.asarray(weights)[0].any()
    assert not gradient[~mask].any()
    # d sum(w c) / d e_j = w_j (c_j - sum(w c)), with w = (1, e^2) / (1 + e^2) and c = (3, 7)
    w = np.exp([0.5, 2.5]) / np.exp([0.5, 2.5]).sum()
    np.testing.assert_allclose(gradient[1, [0, 2]], w * (np.array([3, 7]) - w @ [3, 7]), rtol=1e-5)


def test_equal_masked_energies_inside_a_window_share_the_attention() -> None:
    """The location score gives MASKED_ENERGY to all positions that it cannot distinguish."""
    energies = np.full((1, 1, 6), MASKED_ENERGY, np.float32)
    inside = np.array([[[False, True, True, False, False, False]]])
    np.testing.assert_allclose(masked_softmax(energies, inside), [[[0, 0.5, 0.5, 0, 0, 0]]])
