"""GRU, LSTM, deferred gradients and recomputed attention: gradients against TensorFlow's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nmt.config import AttentionConfig, DropoutConfig
from nmt.network.attention.scores import MOST_SAVED_VALUES
from nmt.network.decoder import teacher_forcing
from nmt.network.recurrence import deferred_gradient, gru, lstm
from nmt.network.recurrence.deferred_gradient import ALIASED_COLUMNS, DeferredGradientKernel

SOURCE = np.array([[4, 7, 9, 5, 11, 3], [6, 8, 3, 0, 0, 0]], np.int32)
TARGET = np.array([[2, 5, 6, 11, 7], [2, 9, 10, 0, 0]], np.int32)
FOLLOWING = np.array([[5, 6, 11, 7, 3], [9, 10, 3, 0, 0]], np.int32)

KINDS: list[dict[str, Any]] = [
    {},
    {"cell": "lstm", "encoder_layers": 2},
    {"decoder": "luong"},
    {"decoder": "luong", "cell": "lstm", "input_feeding": False},
    {"attention": AttentionConfig(score="none")},
    {"attention": AttentionConfig(coverage=True)},
    {"dropout": DropoutConfig(embedding=0, encoder=0, readout=0, state=0.5, context=0.5)},
]


def gradients(model: Any) -> tuple[float, list[np.ndarray]]:
    @tf.function(autograph=False)
    def compute() -> Any:
        with tf.GradientTape() as tape:
            loss = model.total_loss(SOURCE, TARGET, FOLLOWING, 0.1)
        return loss, tape.gradient(loss, model.trainable_variables)

    loss, found = compute()
    return float(loss), [np.asarray(tf.convert_to_tensor(gradient)) for gradient in found]


RANDOM = np.random.default_rng(8)
BATCH, UNITS = 3, 4
CELLS: dict[str, tuple[Callable, list[tuple[int, ...]]]] = {
    "gru": (gru.gru, [(BATCH, 3 * UNITS), (BATCH, 3 * UNITS), (UNITS,), (BATCH, UNITS)]),
    "gru, a bias for each row": (
        gru.gru,
        [(BATCH, 3 * UNITS), (BATCH, 3 * UNITS), (BATCH, UNITS), (BATCH, UNITS)],
    ),
    "lstm": (lstm.lstm, [(BATCH, 4 * UNITS), (BATCH, UNITS)]),
}


@pytest.mark.parametrize("name", CELLS)
def test_the_gradients_of_a_cell_equal_those_of_tensorflow(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell, shapes = CELLS[name]
    given = [tf.constant(RANDOM.normal(size=shape), tf.float32) for shape in shapes]
    upstream = RANDOM.normal(size=(2, BATCH, UNITS))

    def compute() -> list[np.ndarray]:
        with tf.GradientTape() as tape:
            tape.watch(given)
            made = tf.nest.flatten(cell(*given))
            loss = tf.add_n([tf.reduce_sum(by * one) for by, one in zip(upstream, made, strict=False)])
        return [np.asarray(value) for value in (*made, *tape.gradient(loss, given))]

    found = compute()
    for module in (gru, lstm, deferred_gradient):
        monkeypatch.setattr(module, "with_gradient", lambda forward, *values: forward(*values)[0])
    for one, expected in zip(found, compute(), strict=True):
        assert np.abs(expected).max() > 0
        np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_states_of_an_lstm_and_their_gradients_equal_those_of_single_steps(steps: int) -> None:
    inputs = tf.constant(RANDOM.normal(size=(steps, BATCH, 4 * UNITS)), tf.float32)
    kernel = tf.constant(RANDOM.normal(size=(UNITS, 4 * UNITS)), tf.float32)
    upstream = tf.constant(RANDOM.normal(size=(steps, BATCH, UNITS)), tf.float32)

    def single_steps(inputs: Any, kernel: Any) -> Any:
        hidden, carry, states = tf.zeros((BATCH, UNITS)), tf.zeros((BATCH, UNITS)), []
        for gates in tf.unstack(inputs):
            hidden, carry = lstm.lstm(gates + hidden @ kernel, carry)
            states.append(hidden)
        return tf.stack(states)

    def compute(states_of: Callable) -> list[np.ndarray]:
        with tf.GradientTape() as tape:
            tape.watch([inputs, kernel])
            states = states_of(inputs, kernel)
            loss = tf.reduce_sum(upstream * states)
        by = tape.gradient(loss, [inputs, kernel], unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return [np.asarray(value) for value in (states, *by)]

    found = compute(lambda inputs, kernel: lstm.lstm_states(inputs, kernel, "float32"))
    for one, expected in zip(found, compute(single_steps), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(3, ALIASED_COLUMNS), (2 * ALIASED_COLUMNS, 3), (4, ALIASED_COLUMNS + 16)])
def test_a_padded_kernel_gives_the_products_of_the_kernel(shape: tuple[int, int], dtype: str) -> None:
    values, back = RANDOM.integers(-2, 3, (2, shape[0])), RANDOM.integers(-2, 3, (2, shape[1]))
    kernel = RANDOM.integers(-2, 3, shape)
    deferred = DeferredGradientKernel(tf.constant(kernel, tf.float32), dtype)
    np.testing.assert_array_equal(deferred.product(tf.constant(values, tf.float32)), values @ kernel)
    np.testing.assert_array_equal(deferred.transposed_product(tf.constant(back, tf.float32)), back @ kernel.T)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [*KINDS[:2], *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[2:])])
def test_the_gradients_of_a_model_equal_those_of_a_plain_scan(
    changes: dict[str, Any], make_model: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss, found = gradients(make_model(**changes))
    deferred_init = DeferredGradientKernel.__init__

    def plain(self: Any, kernel: Any, dtype: str) -> None:
        deferred_init(self, kernel, dtype)
        self.deferred, self.padded_transposed = False, None
        self.constant = self.padded = tf.cast(self.kernel, dtype)

    def plain_scan(step: Callable, start: Any, inputs: Any, output: Callable = lambda state: state) -> Any:
        def body(state: Any, inputs: Any) -> tuple[Any, Any]:
            state = step(state, inputs)
            return state, state

        return output(keras.ops.scan(body, start, inputs)[1])

    monkeypatch.setattr(DeferredGradientKernel, "__init__", plain)
    for module in (gru, lstm, deferred_gradient):
        monkeypatch.setattr(module, "with_gradient", lambda forward, *values: forward(*values)[0])
    for module in (lstm, teacher_forcing):
        monkeypatch.setattr(module, "scan", plain_scan)
    expected_loss, expected = gradients(make_model(**changes))
    assert loss == pytest.approx(expected_loss, rel=1e-6)
    for one, two in zip(found, expected, strict=True):
        assert np.abs(two).max() > 0
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"decoder": "luong"}, marks=pytest.mark.slow),
        {"attention": AttentionConfig(units=5, coverage=True)},
    ],
)
def test_recomputed_attention_has_the_same_gradients(
    changes: dict[str, Any], make_model: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    remat, recomputed = keras.remat, []
    monkeypatch.setattr(keras, "remat", lambda function: recomputed.append(function) or remat(function))
    loss, expected = gradients(make_model(**changes))
    assert not recomputed
    model = make_model(**changes)
    assert model.limit_attention_memory(MOST_SAVED_VALUES) == 5 * MOST_SAVED_VALUES
    again, found = gradients(model)
    assert recomputed
    assert again == pytest.approx(loss, rel=1e-6)
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


def test_attention_is_recomputed_only_above_the_limit(make_model: Callable) -> None:
    """The additive score is below the limit; other scores, no attention and a Transformer have nothing to recompute."""
    model = make_model()
    assert model.limit_attention_memory(MOST_SAVED_VALUES // 5) == 0 and not model.decoder.attention.score.recompute
    for attention in (AttentionConfig(score="general"), AttentionConfig(score="none")):
        assert make_model(attention=attention).limit_attention_memory(10 * MOST_SAVED_VALUES) == 0
    assert make_model(architecture="transformer", embedding=8).limit_attention_memory(10 * MOST_SAVED_VALUES) == 0
