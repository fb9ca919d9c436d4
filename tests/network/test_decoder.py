"""The recurrent decoders: single steps against NumPy, unrolled steps against teacher forcing, dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from nmt.config import AttentionConfig
from nmt.network.decoder import (
    NO_CONSTANTS,
    BahdanauDecoder,
    DecoderState,
    LoopConstants,
    LuongDecoder,
    RecurrentDecoder,
    Source,
)

BATCH, STEPS, POSITIONS, UNITS, MEMORY, EMBEDDING = 3, 4, 5, 6, 8, 7
RANDOM = np.random.default_rng(4)
EMBEDDED = RANDOM.normal(size=(BATCH, STEPS, EMBEDDING)).astype(np.float32)
MEMORIES = RANDOM.normal(size=(BATCH, POSITIONS, MEMORY)).astype(np.float32)
FINAL = RANDOM.normal(size=(BATCH, MEMORY)).astype(np.float32)
WORDS = RANDOM.normal(size=(BATCH, POSITIONS, EMBEDDING)).astype(np.float32)
MASK = np.arange(POSITIONS) < np.array([5, 3, 1])[:, None]
ADDITIVE = AttentionConfig(units=5)

KINDS: dict[str, dict[str, Any]] = {
    "bahdanau": {},
    "without the piece in the query": {"piece_in_query": False},
    "lstm": {"cell": "lstm"},
    "general": {"attention": AttentionConfig(score="general", window="local_p", reach=2)},
    "location": {"attention": AttentionConfig(score="location", window="local_m", reach=2, positions=4)},
    "hard": {"attention": AttentionConfig(units=5, window="hard")},
    "coverage": {"attention": AttentionConfig(units=5, coverage=True)},
    "none": {"attention": AttentionConfig(score="none")},
    "luong": {"kind": LuongDecoder, "attention": AttentionConfig(score="general")},
    "words": {"words_in_readout": True},
    "words, lstm, local": {
        "words_in_readout": True,
        "cell": "lstm",
        "attention": AttentionConfig(units=5, window="local_m", reach=1),
    },
    "words, none": {"words_in_readout": True, "attention": AttentionConfig(score="none")},
    "luong words": {"kind": LuongDecoder, "words_in_readout": True},
    "luong lstm": {"kind": LuongDecoder, "cell": "lstm"},
    "luong without feeding": {"kind": LuongDecoder, "input_feeding": False},
    "luong local": {"kind": LuongDecoder, "attention": AttentionConfig(score="general", window="local_m", reach=1)},
    "luong coverage": {"kind": LuongDecoder, "attention": AttentionConfig(score="general", coverage=True)},
    "luong none": {"kind": LuongDecoder, "attention": AttentionConfig(score="none")},
}
"""Options of recurrent decoders: kind, cell, attention and read-out."""


@pytest.fixture(scope="module")
def make_decoder(scramble: Callable[..., None]) -> Callable[..., RecurrentDecoder]:
    def make(
        kind: type[RecurrentDecoder] = BahdanauDecoder, attention: AttentionConfig = ADDITIVE, **settings: Any
    ) -> RecurrentDecoder:
        if kind is BahdanauDecoder:
            settings = {"piece_in_query": True, **settings}
        decoder = kind(UNITS, attention, 9, seed=6, **settings)
        decoder.build((None, None, EMBEDDING), (None, None, MEMORY), (None, MEMORY))
        scramble(decoder)
        return decoder

    return make


def unroll(
    decoder: RecurrentDecoder, constants: LoopConstants = NO_CONSTANTS
) -> tuple[np.ndarray, np.ndarray, list[DecoderState]]:
    """Read-outs, weights and states of single steps."""
    source = decoder.source(MEMORIES, FINAL, MASK, WORDS)
    states = [decoder.initial_state(FINAL, source)]
    for step in range(STEPS):
        states.append(decoder.step(states[-1], decoder.project_input(EMBEDDED[:, step]), source, constants))
    readouts = [decoder.readout(s, EMBEDDED[:, i], source) for i, s in enumerate(states[1:])]
    return np.stack(readouts, axis=1), np.stack([s.weights for s in states[1:]], axis=1), states


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("piece_in_query", [True, False])
def test_one_step_equals_the_formulas_of_a_gru_with_attention(make_decoder: Callable, piece_in_query: bool) -> None:
    decoder = make_decoder(piece_in_query=piece_in_query)
    weights = {v.path.split("/", 1)[-1]: np.asarray(v.value, np.float64) for v in decoder.trainable_variables}
    source = decoder.source(MEMORIES, FINAL, MASK, WORDS)
    before = decoder.initial_state(FINAL, source)
    after = decoder.step(before, decoder.project_input(EMBEDDED[:, 0]), source)
    attended = np.asarray(after.weights)
    hidden = np.tanh(FINAL @ weights["bridge/kernel"] + weights["bridge/bias"])
    np.testing.assert_allclose(before.hidden, hidden, atol=1e-5)
    for row in range(BATCH):
        real, s = MEMORIES[row, MASK[row]], hidden[row]
        energies = (
            np.tanh(
                s @ weights["attention/score/query_kernel"]
                + (EMBEDDED[row, 0] @ weights["query_kernel"] if piece_in_query else 0)
                + real @ weights["attention/score/key_kernel"]
                + weights["attention/score/key_bias"]
            )
            @ weights["attention/score/energy_kernel"]
        )[:, 0]
        alphas = np.exp(energies) / np.exp(energies).sum()
        context = alphas @ real
        # The gates are update, reset and candidate. The reset gate multiplies the recurrent product with its bias.
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
            decoder.readout(after, EMBEDDED[:, 0], source)[row],
            np.tanh(read @ weights["readout/kernel"] + weights["readout/bias"]),
            atol=1e-5,
        )


@pytest.mark.parametrize("kind", [BahdanauDecoder, LuongDecoder])
def test_the_read_out_adds_the_attended_source_words(make_decoder: Callable, kind: type) -> None:
    """The difference is tanh(L sum_j alpha_ij E x_j + b). Embeddings of padding have no influence."""
    decoder, without = make_decoder(kind, words_in_readout=True), make_decoder(kind)
    words, *common = decoder.words_layer.trainable_variables, *decoder.trainable_variables
    taken = {id(variable) for variable in words}
    for old, new in zip([v for v in common if id(v) not in taken], without.trainable_variables, strict=True):
        new.assign(old)
    kernel, bias = (np.asarray(variable.value) for variable in words)
    readouts, weights = decoder(EMBEDDED, MEMORIES, FINAL, MASK, WORDS)
    plain, same = without(EMBEDDED, MEMORIES, FINAL, MASK)
    np.testing.assert_allclose(weights, same, atol=1e-6)
    for row in range(BATCH):
        attended = np.asarray(weights)[row][:, MASK[row]] @ WORDS[row, MASK[row]]
        np.testing.assert_allclose(readouts[row] - plain[row], np.tanh(attended @ kernel + bias), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("mixed_bfloat16", 1e-2)])
def test_unrolled_steps_equal_teacher_forcing(make_decoder: Callable, dtype: str, tolerance: float, kind: str) -> None:
    decoder = make_decoder(dtype=dtype, **KINDS[kind])
    readouts, weights = decoder(EMBEDDED, MEMORIES, FINAL, MASK, WORDS)
    unrolled_readouts, unrolled_weights, states = unroll(decoder)
    close = {"atol": tolerance, "rtol": tolerance}
    np.testing.assert_allclose(np.asarray(readouts, np.float32), unrolled_readouts.astype(np.float32), **close)
    np.testing.assert_allclose(weights, unrolled_weights, **close)
    for state in states:
        parts = keras.tree.flatten(state._replace(time=()))
        assert {keras.backend.standardize_dtype(part.dtype) for part in parts} == {"float32"}


def test_the_weights_of_every_step_are_a_distribution_over_real_positions(make_decoder: Callable) -> None:
    _, weights = make_decoder()(EMBEDDED, MEMORIES, FINAL, MASK, WORDS)
    weights = np.asarray(weights)
    assert weights.shape == (BATCH, STEPS, POSITIONS)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-6)
    assert not weights[np.repeat(~MASK[:, None], STEPS, axis=1)].any()


@pytest.mark.parametrize("piece_in_query", [True, False])
def test_a_step_does_not_depend_on_later_pieces(make_decoder: Callable, piece_in_query: bool) -> None:
    """Step i reads y_{i-1}. Without the piece in the query, its attention depends on earlier pieces alone."""
    decoder, changed = make_decoder(piece_in_query=piece_in_query), EMBEDDED.copy()
    changed[:, 2:] += 1.0
    (one, one_weights), (two, two_weights) = (decoder(e, MEMORIES, FINAL, MASK, WORDS) for e in (EMBEDDED, changed))
    np.testing.assert_array_equal(one[:, :2], two[:, :2])
    same = 2 if piece_in_query else 3
    np.testing.assert_array_equal(one_weights[:, :same], two_weights[:, :same])
    assert np.abs(one_weights[:2, same] - two_weights[:2, same]).max() > 1e-3
    assert np.abs(one[:, 2] - two[:, 2]).max() > 1e-3


def test_state_dropout_uses_one_mask_per_sentence(make_decoder: Callable) -> None:
    """Unrolled steps with the mask of the layer equal the teacher-forced result in training."""
    decoder = make_decoder(state_dropout=0.5)
    (seeds,) = [v for v in decoder.variables if "seed" in v.path]
    drawn = np.asarray(seeds.value)
    readouts, weights = decoder(EMBEDDED, MEMORIES, FINAL, MASK, WORDS, training=True)
    seeds.assign(drawn)
    mask = np.asarray(decoder.drop_state(np.ones((BATCH, UNITS), np.float32), training=True))
    assert set(np.unique(mask)) == {0.0, 2.0}
    assert len(np.unique(mask, axis=0)) == BATCH
    expected_readouts, expected_weights, _ = unroll(decoder, LoopConstants(state_mask=mask))
    np.testing.assert_allclose(readouts, expected_readouts, atol=1e-5)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
    exact = make_decoder()(EMBEDDED, MEMORIES, FINAL, MASK, WORDS)
    assert np.abs(readouts - exact[0]).max() > 1e-2
    # Inference has no dropout, and the query of attention has none in training either.
    np.testing.assert_array_equal(weights[:, 0], exact[1][:, 0])
    np.testing.assert_array_equal(decoder(EMBEDDED, MEMORIES, FINAL, MASK, WORDS)[0], exact[0])


def test_context_dropout_affects_the_recurrence_and_not_the_read_out(make_decoder: Callable) -> None:
    decoder = make_decoder(context_dropout=0.5)
    (seeds,) = [v for v in decoder.variables if "seed" in v.path]
    drawn = np.asarray(seeds.value)
    readouts, weights = decoder(EMBEDDED, MEMORIES, FINAL, MASK, WORDS, training=True)
    seeds.assign(drawn)
    mask = np.asarray(decoder.drop_context(np.ones((BATCH, MEMORY), np.float32), training=True))
    assert set(np.unique(mask)) == {0.0, 2.0}
    # In `unroll` the read-out reads the context vector without dropout.
    expected_readouts, expected_weights, _ = unroll(decoder, LoopConstants(context_mask=mask))
    np.testing.assert_allclose(readouts, expected_readouts, atol=1e-5)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
    exact = make_decoder()(EMBEDDED, MEMORIES, FINAL, MASK, WORDS)
    assert np.abs(readouts - exact[0]).max() > 1e-2
    np.testing.assert_array_equal(decoder(EMBEDDED, MEMORIES, FINAL, MASK, WORDS)[0], exact[0])


@pytest.mark.parametrize("kind", KINDS)
def test_the_layer_can_be_rebuilt_from_its_configuration(make_decoder: Callable, kind: str) -> None:
    decoder = make_decoder(state_dropout=0.25, **KINDS[kind])
    copy: Any = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(decoder))
    for old, new in zip(decoder.trainable_variables, copy.trainable_variables, strict=True):
        new.assign(old)
    assert copy.get_config() == decoder.get_config()
    for one, two in zip(
        decoder(EMBEDDED, MEMORIES, FINAL, MASK, WORDS), copy(EMBEDDED, MEMORIES, FINAL, MASK, WORDS), strict=True
    ):
        np.testing.assert_array_equal(one, two)


def test_the_layer_stores_nothing_of_a_sentence(make_decoder: Callable) -> None:
    """A step gives the same state after the layer has read another sentence."""
    decoder = make_decoder()
    source = decoder.source(MEMORIES, FINAL, MASK, WORDS)
    state = decoder.initial_state(FINAL, source)
    gates = decoder.project_input(EMBEDDED[:, 0])
    expected = decoder.step(state, gates, source)
    decoder(EMBEDDED[:1], -MEMORIES[:1], FINAL[:1], MASK[:1])
    again = decoder.step(state, gates, Source(*source))
    np.testing.assert_array_equal(again.hidden, expected.hidden)


def lstm_by_hand(gates: np.ndarray, carry: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    into, keep, new, out = np.split(gates, 4, axis=-1)
    carry = sigmoid(keep) * carry + sigmoid(into) * np.tanh(new)
    return sigmoid(out) * np.tanh(carry), carry


@pytest.mark.parametrize("feeding", [True, False])
def test_luongs_step_attends_with_the_new_state(make_decoder: Callable, feeding: bool) -> None:
    """Two steps of an LSTM with the general score; the second step reads the attentional vector of the first."""
    general = AttentionConfig(score="general")
    decoder = make_decoder(LuongDecoder, general, cell="lstm", input_feeding=feeding)
    w = {v.path.split("/", 1)[-1]: np.asarray(v.value, np.float64) for v in decoder.trainable_variables}
    source = decoder.source(MEMORIES, FINAL, MASK, WORDS)
    state = decoder.initial_state(FINAL, source)
    hidden = np.tanh(FINAL @ w["bridge/kernel"] + w["bridge/bias"])
    carry, fed = np.zeros((BATCH, UNITS)), np.zeros((BATCH, 9))
    for step in range(2):
        state = decoder.step(state, decoder.project_input(EMBEDDED[:, step]), source)
        gates = EMBEDDED[:, step] @ w["embedding_kernel"] + w["gate_bias"] + hidden @ w["state_kernel"]
        if feeding:
            gates = gates + fed @ w["context_kernel"]
        hidden, carry = lstm_by_hand(gates, carry)
        energies = np.einsum("bd,bpd->bp", hidden @ w["attention/score/query_kernel"], MEMORIES)
        exponents = np.where(MASK, np.exp(energies - energies.max(axis=1, keepdims=True)), 0)
        weights = exponents / exponents.sum(axis=1, keepdims=True)
        context = np.einsum("bp,bpd->bd", weights, MEMORIES)
        fed = np.tanh(np.concatenate([hidden, context], axis=1) @ w["readout/kernel"] + w["readout/bias"])
        np.testing.assert_allclose(state.hidden, hidden, atol=1e-5)
        np.testing.assert_allclose(state.weights, weights, atol=1e-5)
        np.testing.assert_allclose(decoder.readout(state, EMBEDDED[:, step], source), fed, atol=1e-5)


@pytest.mark.parametrize("score", ["additive", "general"])
@pytest.mark.parametrize("kind", [BahdanauDecoder, LuongDecoder])
def test_coverage_shifts_the_keys_by_past_attention(make_decoder: Callable, kind: type, score: str) -> None:
    """The energies of each step are the score of the keys plus w times the sum of past weights."""
    decoder = make_decoder(kind, AttentionConfig(score=score, units=5, coverage=True), piece_in_query=False)
    source = decoder.source(MEMORIES, FINAL, MASK, WORDS)
    keys, w = np.asarray(source.keys), np.asarray(decoder.attention.coverage_kernel)
    state, covered = decoder.initial_state(FINAL, source), np.zeros((BATCH, POSITIONS))
    for step in range(STEPS):
        before, state = state, decoder.step(state, decoder.project_input(EMBEDDED[:, step]), source)
        query = np.asarray((before if kind is BahdanauDecoder else state).hidden)[:, None]
        moved, layer = (keys + covered[..., None] * w).astype(np.float32), decoder.attention.score
        energies = np.asarray(layer.compare(layer.project(query), moved))[:, 0]
        exponents = np.where(MASK, np.exp(energies), 0)
        np.testing.assert_allclose(state.weights, exponents / exponents.sum(axis=1, keepdims=True), atol=1e-5)
        covered = covered + np.asarray(state.weights)
        np.testing.assert_allclose(state.coverage, covered, atol=1e-6)


def test_untrained_coverage_changes_nothing() -> None:
    made = []
    for coverage in (False, True):
        keras.utils.set_random_seed(3)
        decoder = BahdanauDecoder(UNITS, AttentionConfig(units=5, coverage=coverage), 9, seed=6)
        decoder.build((None, None, EMBEDDING), (None, None, MEMORY), (None, MEMORY))
        made.append(decoder(EMBEDDED, MEMORIES, FINAL, MASK, WORDS))
    for one, two in zip(*made, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)


def test_without_attention_a_step_reads_only_the_final_state(make_decoder: Callable) -> None:
    decoder = make_decoder(attention=AttentionConfig(score="none"))
    readouts, weights = decoder(EMBEDDED, MEMORIES, FINAL, MASK, WORDS)
    others, _ = decoder(EMBEDDED, 2 * MEMORIES[:, ::-1], FINAL, MASK)
    np.testing.assert_array_equal(readouts, others)
    assert np.abs(decoder(EMBEDDED, MEMORIES, FINAL + 1, MASK)[0] - readouts).min(axis=(1, 2)).max() > 0
    assert not np.asarray(weights).any()


def test_the_forget_gate_of_an_lstm_starts_with_a_bias_of_one() -> None:
    decoder = BahdanauDecoder(UNITS, ADDITIVE, 9, cell="lstm")
    decoder.build((None, None, EMBEDDING), (None, None, MEMORY), (None, MEMORY))
    np.testing.assert_array_equal(np.split(np.asarray(decoder.gate_bias.value), 4), np.eye(4)[:, [1]] * np.ones(UNITS))


def test_hard_attention_samples_in_training_and_not_in_search(make_decoder: Callable) -> None:
    decoder = make_decoder(**KINDS["hard"])
    one, two = (np.asarray(decoder(EMBEDDED, MEMORIES, FINAL, MASK, WORDS, training=True)[1]) for _ in range(2))
    still, again = (np.asarray(decoder(EMBEDDED, MEMORIES, FINAL, MASK, WORDS)[1]) for _ in range(2))
    assert {*np.unique(one), *np.unique(still)} == {0.0, 1.0}
    assert (one != two).any()
    np.testing.assert_array_equal(still, again)
    np.testing.assert_array_equal(one.sum(axis=-1), 1.0)
