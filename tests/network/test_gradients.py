"""Gradients of every layer and loss in float64 by finite differences of the same code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from double_precision import double_precision, require_gradients

from nmt.config import AttentionConfig, TransformerConfig
from nmt.network.attention import SCORES, WINDOWS, Attention, MultiHeadAttention, causal_mask
from nmt.network.attention.masked_softmax import masked_softmax
from nmt.network.attention.pooling import FixedQueryPooling, average_pooling, max_pooling
from nmt.network.attention.windows import WindowInputs
from nmt.network.decoder import BahdanauDecoder, LuongDecoder
from nmt.network.dropout import Dropout
from nmt.network.encoder import Encoder, reverse_by_length
from nmt.network.losses.guided_alignment import guided_alignment_losses
from nmt.network.losses.label_smoothing import token_losses
from nmt.network.losses.output_loss import output_loss
from nmt.network.readout import add_attended_words, attended_words_layer
from nmt.network.recurrence.gru import gru
from nmt.network.recurrence.lstm import lstm, lstm_states
from nmt.network.transformer.decoder import TransformerDecoder
from nmt.network.transformer.encoder import TransformerEncoder
from nmt.network.transformer.layer_normalization import LayerNormalization
from nmt.text.pieces import PAD

BATCH, POSITIONS, STEPS, WIDTH, UNITS = 3, 5, 3, 6, 4
LENGTHS = np.array([5, 2, 1], np.int32)
MASK = np.arange(POSITIONS) < LENGTHS[:, None]


@pytest.fixture(autouse=True)
def precise() -> Iterator[None]:
    with double_precision():
        yield


def draw(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng((seed, *shape)).normal(size=shape)


def weighted(*results: Any) -> Any:
    """A scalar that depends on every entry of the results."""
    factors = [draw(*result.shape, seed=9 + place) for place, result in enumerate(results)]
    return tf.add_n([tf.reduce_sum(factor * result) for factor, result in zip(factors, results, strict=True)])


SOFT = [(score, window) for score in SCORES for window in WINDOWS if window != "hard"]
QUICK = [("additive", "global"), ("gaussian", "local_p")]


@pytest.mark.parametrize("coverage", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "names", [names if names in QUICK else pytest.param(names, marks=pytest.mark.slow) for names in SOFT]
)
def test_attention(names: tuple[str, str], coverage: bool, scramble: Callable) -> None:
    coverage = coverage and names[0] != "location"  # a score by position has no keys that coverage could change
    layer = Attention(*names, units=UNITS, reach=2, positions=4, coverage=coverage)
    layer.build((None, None, WIDTH), (None, None, WIDTH))
    scramble(layer)
    offset, past = draw(BATCH, layer.width), np.abs(draw(BATCH, POSITIONS))

    def loss(query: Any, memory: Any, *offset: Any) -> Any:
        named = {"past_attention": past} if coverage else {}
        time = np.array([1, 3, 0], np.int32)
        return weighted(*layer(query, memory, layer.keys(memory), MASK, *offset, time=time, **named))

    require_gradients(loss, [draw(BATCH, WIDTH), draw(BATCH, POSITIONS, WIDTH), offset], layer.trainable_variables)


def test_the_softmax_of_hard_attention_passes_its_gradient_through() -> None:
    """The step of the forward pass has no derivative; the estimator is the derivative of the softmax with the noise."""
    noise, mask = draw(BATCH, 1, POSITIONS), MASK[:, None]
    energies = tf.constant(draw(BATCH, 1, POSITIONS, seed=3))
    found = []
    for weights_of in (
        lambda energies: WINDOWS["hard"]()(energies, mask, WindowInputs(np.zeros((BATCH, 1, 1)), (), noise)),
        lambda energies: masked_softmax(energies + noise, mask),
    ):
        with tf.GradientTape() as tape:
            tape.watch(energies)
            total = weighted(weights_of(energies))
        found.append(tape.gradient(total, energies))
    np.testing.assert_allclose(*found, rtol=1e-14)
    require_gradients(lambda energies: weighted(masked_softmax(energies + noise, mask)), [energies])


@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
@pytest.mark.parametrize("score", ["additive", pytest.param("gaussian", marks=pytest.mark.slow)])
def test_pooling_with_a_learned_query(score: str, gate: str, scramble: Callable) -> None:
    layer = FixedQueryPooling(score, UNITS, gate)
    layer.build((None, None, WIDTH))
    scramble(layer)
    require_gradients(
        lambda values: weighted(*layer(values, MASK)), [draw(BATCH, POSITIONS, WIDTH)], layer.trainable_variables
    )


def test_pooling_without_a_query() -> None:
    require_gradients(lambda values: weighted(*average_pooling(values, MASK)), [draw(BATCH, POSITIONS, WIDTH)])
    require_gradients(lambda values: weighted(max_pooling(values, MASK)), [draw(BATCH, POSITIONS, WIDTH)])


@pytest.mark.parametrize("queries", [1, pytest.param(POSITIONS, marks=pytest.mark.slow)])
def test_heads(queries: int, scramble: Callable) -> None:
    """The bias of the keys adds the same energy to all positions of a query, so its gradient is zero."""
    layer = MultiHeadAttention(2)
    layer.build((None, None, WIDTH), (None, None, WIDTH))
    scramble(layer)

    def loss(query: Any, memory: Any) -> Any:
        return weighted(*layer(query, layer.project_memory(memory), MASK[:, None, None]))

    variables = [variable for variable in layer.trainable_variables if variable is not layer.key_bias]
    require_gradients(loss, [draw(BATCH, queries, WIDTH), draw(BATCH, POSITIONS, WIDTH)], variables)


def test_heads_of_one_sequence(scramble: Callable) -> None:
    layer = MultiHeadAttention(3)
    layer.build((None, None, WIDTH), (None, None, WIDTH))
    scramble(layer)

    def loss(values: Any) -> Any:
        return weighted(*layer.attend(*layer.project_self(values), causal_mask(POSITIONS)))

    variables = [variable for variable in layer.trainable_variables if variable is not layer.key_bias]
    require_gradients(loss, [draw(BATCH, POSITIONS, WIDTH)], variables)


def test_layer_normalization(scramble: Callable) -> None:
    layer = LayerNormalization()
    layer.build((None, None, WIDTH))
    scramble(layer)
    require_gradients(
        lambda values: weighted(layer(values, training=True)), [draw(BATCH, STEPS, WIDTH)], layer.trainable_variables
    )


def test_dropout() -> None:
    layer = Dropout(0.4, seed=3)
    first = layer.generator.state.numpy()

    def loss(values: Any) -> Any:
        layer.generator.state.assign(first)  # the same mask at each call
        return weighted(tf.square(layer(values, training=True)))

    require_gradients(loss, [draw(BATCH, STEPS, WIDTH)])


def test_the_reversal_of_sentences() -> None:
    require_gradients(
        lambda values: weighted(tf.square(reverse_by_length(values, LENGTHS))), [draw(BATCH, POSITIONS, WIDTH)]
    )


@pytest.mark.parametrize("bias", [(UNITS,), (BATCH, UNITS)])
def test_a_step_of_a_gru(bias: tuple[int, ...]) -> None:
    shapes = [(BATCH, 3 * UNITS), (BATCH, 3 * UNITS), bias, (BATCH, UNITS)]
    values = [draw(*shape, seed=place) for place, shape in enumerate(shapes)]
    require_gradients(lambda *values: weighted(gru(*values)), values)


def test_a_step_of_an_lstm() -> None:
    values = [draw(BATCH, 4 * UNITS), draw(BATCH, UNITS)]
    require_gradients(lambda *values: weighted(*lstm(*values)), values)


def test_the_states_of_an_lstm() -> None:
    values = [draw(STEPS, BATCH, 4 * UNITS), draw(UNITS, 4 * UNITS)]
    require_gradients(lambda *values: weighted(lstm_states(*values, "float64")), values)


TARGETS = np.array([3, 8, PAD, 1, 3, 4, PAD], np.int32)


@pytest.mark.parametrize("smoothing", [0.2, pytest.param(0.0, marks=pytest.mark.slow)])
def test_label_smoothing(smoothing: float) -> None:
    require_gradients(lambda logits: weighted(token_losses(logits, TARGETS, smoothing)), [draw(7, 9)])


@pytest.mark.parametrize("slices", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("smoothing", [0.2, pytest.param(0.0, marks=pytest.mark.slow)])
def test_the_output_loss(smoothing: float, slices: int) -> None:
    values = [draw(7, 4), draw(9, 4), draw(9)]
    require_gradients(lambda *values: 3 * output_loss(*values, TARGETS, smoothing, slices), values)


def test_guided_alignment() -> None:
    links = np.random.default_rng(2).dirichlet(np.ones(POSITIONS), (BATCH, STEPS))
    links[1, 2] = 0
    require_gradients(
        lambda energies: weighted(guided_alignment_losses(tf.nn.softmax(energies), links)),
        [draw(BATCH, STEPS, POSITIONS)],
    )


def test_the_attended_words_of_the_readout(scramble: Callable) -> None:
    layer = attended_words_layer(UNITS, "float64")
    layer.build((None, WIDTH))
    scramble(layer)
    values = [draw(BATCH, STEPS, UNITS), draw(BATCH, STEPS, POSITIONS), draw(BATCH, POSITIONS, WIDTH)]
    require_gradients(
        lambda readout, weights, words: weighted(add_attended_words(readout, layer, weights, words)),
        values,
        layer.trainable_variables,
    )


@pytest.mark.slow
def test_the_recurrent_encoder(scramble: Callable) -> None:
    encoder = Encoder(2 * UNITS, layers=2)
    encoder.build((None, None, WIDTH))
    scramble(encoder)
    require_gradients(
        lambda values: _of_encoded(encoder(values, LENGTHS, training=True)),
        [draw(BATCH, POSITIONS, WIDTH)],
        encoder.trainable_variables,
    )


def _of_encoded(encoded: Any) -> Any:
    """A loss of the positions that are read: the memory at padding is meaningless."""
    return weighted(tf.where(MASK[:, :, None], encoded.memory, 0.0), encoded.final)


SIZES = TransformerConfig(encoder_layers=2, decoder_layers=2, heads=2, feed_forward=7)


def _with_equal_masks(loss: Callable[..., Any], layers: Sequence[Any]) -> Callable[..., Any]:
    """The loss with the same dropout masks at each call."""
    generators = [layer.drop.generator for layer in layers if layer.drop.generator]
    first = [generator.state.numpy() for generator in generators]

    def repeatable(*values: Any) -> Any:
        for generator, state in zip(generators, first, strict=True):
            generator.state.assign(state)
        return loss(*values)

    return repeatable


@pytest.mark.slow
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_the_encoder_of_a_transformer(dropout: float, scramble: Callable) -> None:
    encoder = TransformerEncoder(SIZES, dropout, 0)
    encoder.build((None, None, WIDTH))
    scramble(encoder)

    def plain(values: Any) -> Any:
        return _of_encoded(encoder(values, LENGTHS, training=True))

    loss, values = _with_equal_masks(plain, encoder.layers), [draw(BATCH, POSITIONS, WIDTH)]
    require_gradients(
        loss, values, [variable for variable in encoder.trainable_variables if "key_bias" not in variable.path]
    )
    assert (float(loss(*values)) != float(plain(*values))) == (dropout > 0)  # other masks


DECODERS = {
    "Bahdanau": (BahdanauDecoder, {"piece_in_query": True, "words_in_readout": True}),
    "Bahdanau, LSTM, coverage": (
        BahdanauDecoder,
        {"cell": "lstm", "attention": AttentionConfig(units=UNITS, coverage=True)},
    ),
    "Bahdanau, without attention": (BahdanauDecoder, {"attention": AttentionConfig(score="none")}),
    "Luong": (LuongDecoder, {"attention": AttentionConfig("general", "local_p", UNITS, reach=2)}),
    "Luong, LSTM, no feeding": (LuongDecoder, {"cell": "lstm", "input_feeding": False}),
    "Bahdanau, dropout": (BahdanauDecoder, {"state_dropout": 0.5, "context_dropout": 0.5}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DECODERS)
def test_a_recurrent_decoder(name: str, scramble: Callable) -> None:
    kind, options = DECODERS[name]
    decoder = kind(UNITS, **{"attention": AttentionConfig(units=UNITS), "readout_units": UNITS, **options})
    decoder.build((None, None, WIDTH), (None, None, WIDTH), (None, WIDTH))
    scramble(decoder)
    generators = [layer.generator for layer in (decoder.drop_state, decoder.drop_context) if layer.generator]
    first = [generator.state.numpy() for generator in generators]

    def loss(embedded: Any, memory: Any, final: Any, words: Any) -> Any:
        for generator, state in zip(generators, first, strict=True):
            generator.state.assign(state)
        readouts, weights = decoder(embedded, memory, final, MASK, words, training=True)
        return weighted(readouts, weights) + 1e-3 * weighted(embedded, memory, final, words)

    shapes = [(BATCH, STEPS, WIDTH), (BATCH, POSITIONS, WIDTH), (BATCH, WIDTH), (BATCH, POSITIONS, WIDTH)]
    require_gradients(loss, [draw(*shape) for shape in shapes], decoder.trainable_variables)


@pytest.mark.slow
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_the_decoder_of_a_transformer(dropout: float, scramble: Callable) -> None:
    decoder = TransformerDecoder(TransformerConfig(1, 1, 2, 7), dropout, 0, words_in_readout=True)
    decoder.build((None, None, WIDTH))
    scramble(decoder)
    shapes = [(BATCH, STEPS, WIDTH), (BATCH, POSITIONS, WIDTH), (BATCH, POSITIONS, WIDTH)]

    def plain(embedded: Any, memory: Any, words: Any) -> Any:
        return weighted(*decoder(embedded, memory, memory[:, 0], MASK, words, training=True))

    variables = [variable for variable in decoder.trainable_variables if "key_bias" not in variable.path]
    loss, values = _with_equal_masks(plain, decoder.layers), [draw(*shape) for shape in shapes]
    require_gradients(loss, values, variables)
    assert (float(loss(*values)) != float(plain(*values))) == (dropout > 0)  # other masks


MODELS: list[dict[str, Any]] = [
    {},
    {"cell": "lstm", "encoder_layers": 2, "tie": "none"},
    {"decoder": "luong", "tie": "all"},
    {"words_in_readout": True, "piece_in_query": True},
    {"architecture": "transformer", "embedding": 8},
    {"architecture": "mixed", "embedding": 8},
]


@pytest.mark.slow
@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize("changes", MODELS)
def test_a_model(changes: dict[str, Any], guided: bool, make_model: Callable) -> None:
    model = make_model(dtype="float64", transformer=SIZES, **changes)
    source = np.array([[4, 7, 9, 5, 11, 3], [6, 8, 3, 0, 0, 0]], np.int32)
    target, following = (
        np.array(rows, np.int32) for rows in ([[2, 5, 6, 7], [2, 9, 0, 0]], [[5, 6, 7, 3], [9, 3, 0, 0]])
    )
    links = np.zeros((2, 4, 6))
    links[0, 0, 1] = links[0, 2, 3] = links[1, 0, 0] = 1

    @tf.function(autograph=False)
    def loss() -> Any:
        if not guided:
            return model.total_loss(source, target, following, 0.1)
        total, alignment = model.guided_loss(source, target, following, links, 0.1, slices=2)
        return total + 2 * alignment

    variables = [variable for variable in model.trainable_variables if "key_bias" not in variable.path]
    require_gradients(loss, [], variables)
