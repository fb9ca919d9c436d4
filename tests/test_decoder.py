"""The decoder: one GRU step against NumPy, unrolled steps against the teacher-forced pass, state dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from nmt.decoder import NO_MASKS, Decoder, DecoderState, RecurrentMasks, Source

BATCH, STEPS, POSITIONS, UNITS, MEMORY, EMBEDDING = 3, 4, 5, 6, 8, 7
RANDOM = np.random.default_rng(4)
EMBEDDED = RANDOM.normal(size=(BATCH, STEPS, EMBEDDING)).astype(np.float32)
MEMORIES = RANDOM.normal(size=(BATCH, POSITIONS, MEMORY)).astype(np.float32)
FINAL = RANDOM.normal(size=(BATCH, MEMORY)).astype(np.float32)
MASK = np.arange(POSITIONS) < np.array([5, 3, 1])[:, None]


@pytest.fixture(scope="module")
def make_decoder(scramble: Callable[..., None]) -> Callable[..., Decoder]:
    def make(
        dropout: float = 0.0, context_dropout: float = 0.0, dtype: str = "float32", piece_in_query: bool = True
    ) -> Decoder:
        decoder = Decoder(UNITS, 5, 9, piece_in_query, dropout, context_dropout, seed=6, dtype=dtype)
        decoder.build((None, None, EMBEDDING), (None, None, MEMORY), (None, MEMORY))
        scramble(decoder)
        return decoder

    return make


def unroll(decoder: Decoder, masks: RecurrentMasks = NO_MASKS) -> tuple[np.ndarray, np.ndarray, list[DecoderState]]:
    """Read-outs, weights and states, one step after the other."""
    source = decoder.source(MEMORIES, MASK)
    states = [decoder.initial_state(FINAL, source)]
    for step in range(STEPS):
        states.append(decoder.step(states[-1], decoder.piece_share(EMBEDDED[:, step]), source, masks))
    readouts = [decoder.readout(s.hidden, s.context, EMBEDDED[:, i]) for i, s in enumerate(states[1:])]
    return np.stack(readouts, axis=1), np.stack([s.weights for s in states[1:]], axis=1), states


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("piece_in_query", [True, False])
def test_one_step_is_a_gru_over_embedding_and_context(make_decoder: Callable, piece_in_query: bool) -> None:
    decoder = make_decoder(piece_in_query=piece_in_query)
    weights = {v.path.split("/", 1)[-1]: np.asarray(v.value, np.float64) for v in decoder.trainable_variables}
    source = decoder.source(MEMORIES, MASK)
    before = decoder.initial_state(FINAL, source)
    after = decoder.step(before, decoder.piece_share(EMBEDDED[:, 0]), source)
    attended = np.asarray(after.weights)
    hidden = np.tanh(FINAL @ weights["bridge/kernel"] + weights["bridge/bias"])
    np.testing.assert_allclose(before.hidden, hidden, atol=1e-5)
    for row in range(BATCH):
        real, s = MEMORIES[row, MASK[row]], hidden[row]
        energies = (
            np.tanh(
                s @ weights["attention/query_kernel"]
                + (EMBEDDED[row, 0] @ weights["query_kernel"] if piece_in_query else 0)
                + real @ weights["attention/key_kernel"]
                + weights["attention/key_bias"]
            )
            @ weights["attention/energy_kernel"]
        )[:, 0]
        alphas = np.exp(energies) / np.exp(energies).sum()
        context = alphas @ real
        # Gates side by side: update, reset, candidate; the reset gate falls on the recurrent product, bias included.
        inputs = (
            EMBEDDED[row, 0] @ weights["embedding_kernel"] + context @ weights["context_kernel"] + weights["gate_bias"]
        )
        x_update, x_reset, x_candidate = np.split(inputs, 3)
        h_update, h_reset, h_candidate = np.split(s @ weights["state_kernel"], 3)
        update, reset = sigmoid(x_update + h_update), sigmoid(x_reset + h_reset)
        candidate = np.tanh(x_candidate + reset * (h_candidate + weights["state_bias"]))
        expected = (1 - update) * s + update * candidate
        np.testing.assert_allclose(attended[row, MASK[row]], alphas, atol=1e-5)
        np.testing.assert_allclose(after.context[row], context, atol=1e-5)
        np.testing.assert_allclose(after.hidden[row], expected, atol=1e-5)
        read = np.concatenate([expected, context, EMBEDDED[row, 0]])
        np.testing.assert_allclose(
            decoder.readout(after.hidden, after.context, EMBEDDED[:, 0])[row],
            np.tanh(read @ weights["readout/kernel"] + weights["readout/bias"]),
            atol=1e-5,
        )


@pytest.mark.parametrize("piece_in_query", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("mixed_bfloat16", 1e-2)])
def test_unrolled_steps_equal_the_teacher_forced_pass(
    make_decoder: Callable, dtype: str, tolerance: float, piece_in_query: bool
) -> None:
    decoder = make_decoder(dtype=dtype, piece_in_query=piece_in_query)
    readouts, weights = decoder(EMBEDDED, MEMORIES, FINAL, MASK)
    unrolled_readouts, unrolled_weights, states = unroll(decoder)
    np.testing.assert_allclose(np.asarray(readouts, np.float32), unrolled_readouts.astype(np.float32), atol=tolerance)
    np.testing.assert_allclose(weights, unrolled_weights, atol=tolerance)
    for state in states:
        assert {keras.backend.standardize_dtype(field.dtype) for field in state} == {"float32"}


def test_weights_are_distributions_over_the_real_positions_of_every_step(make_decoder: Callable) -> None:
    _, weights = make_decoder()(EMBEDDED, MEMORIES, FINAL, MASK)
    weights = np.asarray(weights)
    assert weights.shape == (BATCH, STEPS, POSITIONS)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-6)
    assert not weights[np.repeat(~MASK[:, None], STEPS, axis=1)].any()


@pytest.mark.parametrize("piece_in_query", [True, False])
def test_a_step_reads_nothing_of_the_steps_to_come(make_decoder: Callable, piece_in_query: bool) -> None:
    """What is embedded at step i is y_{i-1}: the query knows it, or it knows only the state, made before it."""
    decoder, changed = make_decoder(piece_in_query=piece_in_query), EMBEDDED.copy()
    changed[:, 2:] += 1.0
    (one, one_weights), (two, two_weights) = (decoder(e, MEMORIES, FINAL, MASK) for e in (EMBEDDED, changed))
    np.testing.assert_array_equal(one[:, :2], two[:, :2])
    same = 2 if piece_in_query else 3
    np.testing.assert_array_equal(one_weights[:, :same], two_weights[:, :same])
    assert np.abs(one_weights[:2, same] - two_weights[:2, same]).max() > 1e-3
    assert np.abs(one[:, 2] - two[:, 2]).max() > 1e-3


def test_state_dropout_draws_one_mask_a_sentence_for_all_its_steps(make_decoder: Callable) -> None:
    """With the mask that the layer drew, unrolled steps equal the training pass."""
    decoder = make_decoder(dropout=0.5)
    (seeds,) = [v for v in decoder.variables if "seed" in v.path]
    drawn = np.asarray(seeds.value)
    readouts, weights = decoder(EMBEDDED, MEMORIES, FINAL, MASK, training=True)
    seeds.assign(drawn)
    mask = np.asarray(decoder.drop_hidden(np.ones((BATCH, UNITS), np.float32), training=True))
    assert set(np.unique(mask)) == {0.0, 2.0}
    assert len(np.unique(mask, axis=0)) == BATCH
    expected_readouts, expected_weights, _ = unroll(decoder, RecurrentMasks(hidden=mask))
    np.testing.assert_allclose(readouts, expected_readouts, atol=1e-5)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
    exact = make_decoder()(EMBEDDED, MEMORIES, FINAL, MASK)
    assert np.abs(readouts - exact[0]).max() > 1e-2
    # In inference nothing is dropped, and the attention's query never is: the first step's weights stay.
    np.testing.assert_array_equal(weights[:, 0], exact[1][:, 0])
    np.testing.assert_array_equal(decoder(EMBEDDED, MEMORIES, FINAL, MASK)[0], exact[0])


def test_context_dropout_is_on_what_the_recurrence_reads_and_not_on_the_read_out(make_decoder: Callable) -> None:
    decoder = make_decoder(context_dropout=0.5)
    (seeds,) = [v for v in decoder.variables if "seed" in v.path]
    drawn = np.asarray(seeds.value)
    readouts, weights = decoder(EMBEDDED, MEMORIES, FINAL, MASK, training=True)
    seeds.assign(drawn)
    mask = np.asarray(decoder.drop_context(np.ones((BATCH, MEMORY), np.float32), training=True))
    assert set(np.unique(mask)) == {0.0, 2.0}
    # `unroll` reads out of the whole context vector.
    expected_readouts, expected_weights, _ = unroll(decoder, RecurrentMasks(context=mask))
    np.testing.assert_allclose(readouts, expected_readouts, atol=1e-5)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
    exact = make_decoder()(EMBEDDED, MEMORIES, FINAL, MASK)
    assert np.abs(readouts - exact[0]).max() > 1e-2
    np.testing.assert_array_equal(decoder(EMBEDDED, MEMORIES, FINAL, MASK)[0], exact[0])


def test_the_configuration_makes_the_same_layer(make_decoder: Callable) -> None:
    decoder = make_decoder(dropout=0.25)
    copy: Any = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(decoder))
    for old, new in zip(decoder.trainable_variables, copy.trainable_variables, strict=True):
        new.assign(old)
    assert copy.get_config() == decoder.get_config()
    for one, two in zip(decoder(EMBEDDED, MEMORIES, FINAL, MASK), copy(EMBEDDED, MEMORIES, FINAL, MASK), strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_source_is_a_plain_argument(make_decoder: Callable) -> None:
    """Nothing of one sentence is left in the layer when the next one comes."""
    decoder = make_decoder()
    source = decoder.source(MEMORIES, MASK)
    state = decoder.initial_state(FINAL, source)
    gates = decoder.piece_share(EMBEDDED[:, 0])
    expected = decoder.step(state, gates, source)
    decoder(EMBEDDED[:1], -MEMORIES[:1], FINAL[:1], MASK[:1])
    again = decoder.step(state, gates, Source(*source))
    np.testing.assert_array_equal(again.hidden, expected.hidden)
