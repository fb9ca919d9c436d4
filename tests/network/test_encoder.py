"""The encoder: padding, direction, final states, stacking, dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.network.encoder import BidirectionalLSTM, Encoder, reverse_by_length

WIDTH, UNITS = 5, 8
LENGTHS = np.array([7, 3, 1], np.int32)
VALUES = np.random.default_rng(2).normal(size=(3, 7, WIDTH)).astype(np.float32)


@pytest.fixture(scope="module")
def make_encoder(scramble: Callable[..., None]) -> Callable[..., Encoder]:
    def make(layers: int = 1, dropout: float = 0.0, dtype: str = "float32") -> Encoder:
        encoder = Encoder(UNITS, layers, dropout, seed=3, dtype=dtype)
        encoder.build((None, None, WIDTH))
        scramble(encoder)
        return encoder

    return make


def keras_lstm(layer: BidirectionalLSTM, name: str, backward: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Keras's LSTM with the weights of one direction, as a function of one unpadded sentence."""
    lstm = keras.layers.LSTM(UNITS // 2, return_sequences=True, go_backwards=backward)
    lstm.build((None, None, layer.forward.cell.kernel.shape[0]))
    lstm.set_weights([v.value for v in getattr(layer, name).trainable_variables])
    return lambda sentence: np.asarray(lstm(sentence[None]))[0]


@pytest.mark.parametrize("layers", [1, 2])
def test_both_directions_equal_the_lstms_of_keras_on_single_sentences(make_encoder: Callable, layers: int) -> None:
    """The sentences of the reference have no padding, and its backward LSTM reads from the last word to the first."""
    encoder = make_encoder(layers)
    encoded = encoder(VALUES, LENGTHS)
    for row, length in enumerate(LENGTHS):
        sentence = VALUES[row, :length]
        for layer in encoder.layers:
            forward = keras_lstm(layer, "forward", False)(sentence)
            backward = keras_lstm(layer, "backward", True)(sentence)
            sentence = np.concatenate([forward, backward[::-1]], axis=1)
        np.testing.assert_allclose(encoded.memory[row, :length], sentence, atol=1e-5)
        # The forward LSTM ends at the last word, the backward LSTM at the first.
        np.testing.assert_allclose(encoded.final[row], np.concatenate([forward[-1], backward[-1]]), atol=1e-5)


@pytest.mark.parametrize("layers", [1, 2])
def test_the_amount_of_padding_does_not_matter(make_encoder: Callable, layers: int) -> None:
    encoder = make_encoder(layers)
    together = encoder(VALUES, LENGTHS)
    for row, length in enumerate(LENGTHS):
        alone = encoder(VALUES[row : row + 1, :length], LENGTHS[row : row + 1])
        np.testing.assert_allclose(together.memory[row, :length], alone.memory[0], atol=1e-5)
        np.testing.assert_allclose(together.final[row], alone.final[0], atol=1e-5)


def test_values_at_padding_do_not_matter(make_encoder: Callable) -> None:
    encoder = make_encoder(2)
    mask = (np.arange(7) < LENGTHS[:, None])[:, :, None]
    one, two = encoder(VALUES, LENGTHS), encoder(np.where(mask, VALUES, 100).astype(np.float32), LENGTHS)
    np.testing.assert_array_equal(one.final, two.final)
    np.testing.assert_array_equal(np.where(mask, one.memory, 0), np.where(mask, two.memory, 0))


def test_reversal_by_length_keeps_padding_in_place() -> None:
    values = np.arange(10, dtype=np.float32).reshape(2, 5, 1)
    reversed_values = np.asarray(reverse_by_length(values, np.array([3, 5], np.int32)))[..., 0]
    assert reversed_values.tolist() == [[2, 1, 0, 3, 4], [9, 8, 7, 6, 5]]


@settings(max_examples=25, deadline=None)
@given(lengths=st.lists(st.integers(0, 6), min_size=1, max_size=4))
def test_two_reversals_cancel(lengths: list[int]) -> None:
    values = np.random.default_rng(0).normal(size=(len(lengths), 6, 2)).astype(np.float32)
    counts = np.array(lengths, np.int32)
    np.testing.assert_array_equal(reverse_by_length(reverse_by_length(values, counts), counts), values)


def test_the_scan_on_cpus_equals_the_lstm_of_keras(make_encoder: Callable) -> None:
    """GPUs run the Keras layers and CPUs the scan, with one set of weights; states and gradients are compared."""
    layer = make_encoder(1).layers[0]
    found = []

    def scan(values: tf.Tensor) -> tf.Tensor:
        return tf.transpose(layer._scan(layer.forward.cell, values), (1, 0, 2))

    for run in (layer.forward, scan):
        with tf.GradientTape() as tape:
            states = run(tf.constant(VALUES))
            total = tf.reduce_sum(tf.sin(states))
        weights = [v.value for v in layer.forward.trainable_variables]
        found.append([states, *tape.gradient(total, weights)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_gpus_run_the_lstm_of_keras(make_encoder: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = make_encoder(1).layers[0]
    expected = layer(VALUES, LENGTHS)
    monkeypatch.setattr(keras.distribution, "list_devices", lambda: ["cpu:0", "gpu:0"])
    monkeypatch.setattr(layer, "_scan", None)  # a call would fail
    for one, other in zip(layer(VALUES, LENGTHS), expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_the_gradient_of_a_reversal_is_the_reversed_gradient() -> None:
    values = tf.constant(np.random.default_rng(2).normal(size=(2, 5, 3)), tf.float32)
    lengths = np.array([3, 5], np.int32)
    with tf.GradientTape() as tape:
        tape.watch(values)
        total = tf.reduce_sum(reverse_by_length(values, lengths) * np.arange(5, dtype=np.float32)[:, None])
    # Row 0: positions 0, 1, 2 moved to 2, 1, 0, and padding stayed.
    assert tape.gradient(total, values)[:, :, 0].numpy().tolist() == [[2, 1, 0, 3, 4], [4, 3, 2, 1, 0]]


def test_dropout_applies_to_the_output_of_every_layer_in_training(make_encoder: Callable) -> None:
    values, lengths = np.repeat(VALUES, 20, axis=0), np.repeat(LENGTHS, 20)
    silent, noisy = make_encoder(2), make_encoder(2, dropout=0.375)
    exact, inference, training = silent(values, lengths), noisy(values, lengths), noisy(values, lengths, training=True)
    np.testing.assert_array_equal(exact.memory, inference.memory)
    dropped = np.asarray(training.memory) == 0
    assert 0.33 < dropped.mean() < 0.42
    # The final state is read before dropout of the last layer, so it shows the dropout of the first layer alone.
    assert (np.asarray(training.final) != 0).all()
    assert np.abs(training.final - exact.final).max() > 0.01
    one = make_encoder(1, dropout=0.375)
    first, second = one(values, lengths, training=True), one(values, lengths)
    np.testing.assert_array_equal(first.final, second.final)
    kept = np.asarray(first.memory) != 0
    np.testing.assert_allclose(first.memory[kept], second.memory[kept] / 0.625, rtol=1e-5)


def test_mixed_precision_gives_a_half_precision_memory_and_a_float32_final_state(make_encoder: Callable) -> None:
    encoded, exact = make_encoder(2, dtype="mixed_bfloat16")(VALUES, LENGTHS), make_encoder(2)(VALUES, LENGTHS)
    assert keras.backend.standardize_dtype(encoded.memory.dtype) == "bfloat16"
    assert keras.backend.standardize_dtype(encoded.final.dtype) == "float32"
    np.testing.assert_allclose(encoded.final, exact.final, atol=0.05)


@pytest.mark.parametrize("kind", ["layer", "encoder"])
def test_the_layer_can_be_rebuilt_from_its_configuration(make_encoder: Callable, kind: str) -> None:
    encoder = make_encoder(2, dropout=0.25)
    layer = encoder if kind == "encoder" else encoder.layers[0]
    copy: Any = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    for old, new in zip(layer.trainable_variables, copy.trainable_variables, strict=True):
        new.assign(old)
    assert copy.get_config() == layer.get_config()
    np.testing.assert_array_equal(copy(VALUES, LENGTHS).memory, layer(VALUES, LENGTHS).memory)
