"""Attention against NumPy: energies, masked softmax, context vector, gradients, precision."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nmt.attention import AdditiveAttention, context_vector, masked_softmax

BATCH, POSITIONS, STATE, MEMORY, UNITS = 3, 5, 4, 6, 7
LENGTHS = np.array([5, 2, 1])
MASK = np.arange(POSITIONS) < LENGTHS[:, None]

ENERGIES = arrays(np.float32, (3, 4), elements=st.floats(-50, 50, width=32))
MASKS = arrays(bool, (3, 4))


def reference(
    query: np.ndarray, memory: np.ndarray, mask: np.ndarray, weights: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Bahdanau et al. (2015), A.1.2 and eq. 5 and 6, position by position, in float64."""
    query_kernel, key_kernel, bias, energy_kernel = (w.astype(np.float64) for w in weights)
    contexts, alphas = np.zeros((len(query), memory.shape[-1])), np.zeros(mask.shape)
    for i in range(len(query)):
        real = np.flatnonzero(mask[i])
        energies = np.array(
            [(np.tanh(query[i] @ query_kernel + memory[i, j] @ key_kernel + bias) @ energy_kernel)[0] for j in real]
        )
        alphas[i, real] = np.exp(energies) / np.exp(energies).sum()
        contexts[i] = sum(alphas[i, j] * memory[i, j] for j in real)
    return contexts, alphas


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    return (
        random.normal(size=(BATCH, STATE)).astype(np.float32),
        random.normal(size=(BATCH, POSITIONS, MEMORY)).astype(np.float32),
    )


@pytest.fixture
def make_layer(scramble: Callable[..., None]) -> Callable[..., AdditiveAttention]:
    def make(dtype: str = "float32") -> AdditiveAttention:
        layer = AdditiveAttention(UNITS, dtype=dtype)
        layer.build((None, STATE), (None, None, MEMORY))
        scramble(layer)
        return layer

    return make


def test_it_is_the_additive_attention_of_bahdanau_et_al(make_layer: Callable, data: tuple) -> None:
    layer, (query, memory) = make_layer(), data
    context, weights = layer(query, memory, layer.keys(memory), MASK)
    expected_context, expected_weights = reference(query, memory, MASK, layer.get_weights())
    np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
    np.testing.assert_allclose(context, expected_context, atol=1e-5)


def test_the_sum_over_positions_is_the_memory_under_the_weights() -> None:
    memory = np.array([[[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]]], np.float32)
    np.testing.assert_allclose(context_vector(np.array([[0.5, 0.25, 0.25]], np.float32), memory), [[2.0, 20.0]])


def test_one_position_gets_all_attention_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = masked_softmax(np.array([[3.0]], np.float32), np.array([[True]]))
    np.testing.assert_array_equal(weights, [[1.0]])


def test_padding_may_hold_anything(make_layer: Callable, data: tuple) -> None:
    layer, (query, memory) = make_layer(), data
    other = np.where(MASK[:, :, None], memory, 1e4).astype(np.float32)
    for one, two in zip(
        layer(query, memory, layer.keys(memory), MASK), layer(query, other, layer.keys(other), MASK), strict=True
    ):
        np.testing.assert_array_equal(one, two)


@settings(max_examples=40, deadline=None)
@given(energies=ENERGIES, mask=MASKS)
def test_rows_sum_to_one_over_real_positions_and_are_zero_on_padding(energies: np.ndarray, mask: np.ndarray) -> None:
    weights = np.asarray(masked_softmax(energies, mask))
    assert (weights[~mask] == 0).all()
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), mask.any(axis=1).astype(float), atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(energies=ENERGIES, mask=MASKS, shift=st.floats(-20, 20, width=32))
def test_a_shift_of_all_energies_changes_nothing(energies: np.ndarray, mask: np.ndarray, shift: float) -> None:
    shifted = masked_softmax(energies + np.float32(shift), mask)
    np.testing.assert_allclose(shifted, masked_softmax(energies, mask), atol=2e-5)


def test_the_softmax_is_exact_on_hand_made_energies() -> None:
    energies, mask = np.log([[1.0, 2.0, 100.0, 5.0]]), np.array([[True, True, False, True]])
    np.testing.assert_allclose(masked_softmax(energies, mask), [[1 / 8, 2 / 8, 0, 5 / 8]], rtol=1e-6)


def test_a_row_without_real_positions_has_no_weights_and_a_finite_gradient() -> None:
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


def test_gradients_are_those_of_finite_differences(make_layer: Callable, data: tuple) -> None:
    """Of the reference in float64, for the query, the memory and all weights."""
    layer, (query, memory) = make_layer(), data
    random = np.random.default_rng(8)
    on_context, on_weights = random.normal(size=(BATCH, MEMORY)), random.normal(size=(BATCH, POSITIONS))

    def loss(values: list[np.ndarray]) -> float:
        context, weights = reference(values[0], values[1], MASK, values[2:])
        return float((context * on_context).sum() + (weights * on_weights).sum())

    inputs = [tf.constant(query), tf.constant(memory)]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        context, weights = layer(*inputs, layer.keys(inputs[1]), MASK)
        total = tf.reduce_sum(context * on_context.astype("f")) + tf.reduce_sum(weights * on_weights.astype("f"))
    computed = tape.gradient(total, [*inputs, *(v.value for v in layer.trainable_variables)])
    values = [np.asarray(value, np.float64) for value in (query, memory, *layer.get_weights())]
    for value, gradient in zip(values, computed, strict=True):
        for place in random.permutation(value.size)[:12]:
            index = np.unravel_index(place, value.shape)
            kept, differences = value[index], []
            for sign in (1, -1):
                value[index] = kept + sign * 1e-5
                differences.append(loss(values))
            value[index] = kept
            np.testing.assert_allclose(
                gradient.numpy()[index], (differences[0] - differences[1]) / 2e-5, rtol=1e-3, atol=1e-5
            )


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision_multiplies_in_half_and_weighs_in_float32(
    policy: str, make_layer: Callable, data: tuple
) -> None:
    layer, exact, (query, memory) = make_layer(policy), make_layer(), data
    keys = layer.keys(memory)
    context, weights = layer(query, memory, keys, MASK)
    assert keras.backend.standardize_dtype(keys.dtype) == policy.removeprefix("mixed_")
    assert [keras.backend.standardize_dtype(v.dtype) for v in (context, weights)] == ["float32", "float32"]
    assert {v.dtype for v in layer.trainable_variables} == {"float32"}
    np.testing.assert_allclose(weights, exact(query, memory, exact.keys(memory), MASK)[1], atol=0.03)
    np.testing.assert_allclose(np.sum(weights, axis=1), 1.0, atol=1e-6)


def test_the_configuration_makes_the_same_layer(make_layer: Callable, data: tuple) -> None:
    layer, (query, memory) = make_layer("mixed_bfloat16"), data
    copy: Any = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    copy.set_weights(layer.get_weights())
    assert copy.get_config() == layer.get_config()
    for one, two in zip(
        layer(query, memory, layer.keys(memory), MASK), copy(query, memory, copy.keys(memory), MASK), strict=True
    ):
        np.testing.assert_array_equal(one, two)
