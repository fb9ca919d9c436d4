"""Multi-head attention, positions and the Transformer against NumPy; single steps against teacher forcing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nmt.config import ConfigError, ModelConfig, TransformerConfig
from nmt.network.attention import Attention, MultiHeadAttention, causal_mask
from nmt.network.transformer.decoder import TransformerDecoder
from nmt.network.transformer.encoder import TransformerEncoder
from nmt.network.transformer.layer_normalization import LayerNormalization
from nmt.network.transformer.positions import Positions, sinusoids
from nmt.text.pieces import PAD

BATCH, POSITIONS, STEPS, WIDTH = 3, 5, 4, 8
RANDOM = np.random.default_rng(3)
MEMORY = RANDOM.normal(size=(BATCH, POSITIONS, WIDTH)).astype(np.float32)
QUERIES = RANDOM.normal(size=(BATCH, STEPS, WIDTH)).astype(np.float32)
WORDS = RANDOM.normal(size=(BATCH, POSITIONS, WIDTH)).astype(np.float32)
LENGTHS = np.array([5, 3, 1])
MASK = np.arange(POSITIONS) < LENGTHS[:, None]
SMALL = TransformerConfig(encoder_layers=2, decoder_layers=2, heads=2, feed_forward=10)


def softmax(energies: np.ndarray) -> np.ndarray:
    exponents = np.exp(energies - energies.max(axis=-1, keepdims=True))
    return exponents / exponents.sum(axis=-1, keepdims=True)


@pytest.fixture
def make_heads(scramble: Callable[..., None]) -> Callable[..., MultiHeadAttention]:
    def make(heads: int, dtype: str = "float32") -> MultiHeadAttention:
        layer = MultiHeadAttention(heads, dtype=dtype)
        layer.build((None, None, WIDTH), (None, None, WIDTH))
        scramble(layer)
        return layer

    return make


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_every_head_is_scaled_dot_attention_in_a_slice_of_the_features(heads: int, make_heads: Callable) -> None:
    layer = make_heads(heads)
    kernel = {v.path.split("/")[-1]: np.asarray(v.value, np.float64) for v in layer.trainable_variables}
    found, weights = layer(QUERIES, layer.project_memory(MEMORY), MASK[:, None, None])
    q, k, v = (
        values @ kernel[f"{name}_kernel"] + kernel[f"{name}_bias"]
        for name, values in (("query", QUERIES), ("key", MEMORY), ("value", MEMORY))
    )
    size = WIDTH // heads
    for row in range(BATCH):
        contexts = []
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            real = MASK[row]
            expected = softmax(q[row][:, part] @ k[row][real][:, part].T / np.sqrt(size))
            np.testing.assert_allclose(np.asarray(weights)[row, head][:, real], expected, atol=1e-5)
            contexts.append(expected @ v[row][real][:, part])
        joined = np.concatenate(contexts, axis=-1) @ kernel["output_kernel"] + kernel["output_bias"]
        np.testing.assert_allclose(found[row], joined, atol=2e-5)
    assert not np.asarray(weights)[np.broadcast_to(~MASK[:, None, None], weights.shape)].any()


def test_one_head_with_identity_projections_equals_the_scaled_dot_score() -> None:
    heads, plain = MultiHeadAttention(1), Attention("scaled_dot")
    heads.build((None, None, WIDTH), (None, None, WIDTH))
    plain.build((None, None, WIDTH), (None, None, WIDTH))
    for name in ("query", "key", "value", "output"):
        getattr(heads, f"{name}_kernel").assign(np.eye(WIDTH))
    context, weights = plain(QUERIES[:, 0], MEMORY, plain.keys(MEMORY), MASK)
    found, many = heads(QUERIES[:, :1], heads.project_memory(MEMORY), MASK[:, None, None])
    np.testing.assert_allclose(found[:, 0], context, atol=1e-5)
    np.testing.assert_allclose(many[:, 0, 0], weights, atol=1e-6)


@pytest.mark.parametrize("steps", [1, STEPS])  # 1 is a step of search, which needs no transposition
def test_self_attention_with_joint_projections_equals_separate_projections(steps: int, make_heads: Callable) -> None:
    layer, values = make_heads(2), QUERIES[:, :steps]
    own = np.tril(np.ones((steps, steps), bool))
    for found, expected in zip(
        layer.attend(*layer.project_self(values), own), layer(values, layer.project_memory(values), own), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=2e-6)  # products of other widths round differently


def test_the_number_of_heads_must_divide_the_width() -> None:
    with pytest.raises(ValueError, match="3 heads do not divide a width of 8"):
        MultiHeadAttention(3).build((None, None, 8), (None, None, 8))
    with pytest.raises(ConfigError, match="embedding is 12: a Transformer of 4 heads needs a multiple of 8"):
        ModelConfig(architecture="transformer", embedding=12)


def test_sinusoids_equal_the_formula() -> None:
    found = np.asarray(sinusoids(np.arange(7), 6))
    for position in range(7):
        for i in range(3):
            angle = position / 10000 ** (2 * i / 6)
            np.testing.assert_allclose(found[position, 2 * i : 2 * i + 2], [np.sin(angle), np.cos(angle)], atol=1e-5)


def test_products_of_sinusoids_depend_on_the_offset_alone() -> None:
    """A shift of positions rotates the encodings, so a linear map can compute offsets (Vaswani et al. 2017, 3.5)."""
    codes = np.asarray(sinusoids(np.arange(20), 4), np.float64)
    products = codes @ codes.T
    for offset in range(1, 5):
        np.testing.assert_allclose(np.diagonal(products, offset), products[0, offset], atol=1e-5)


def test_positions_after_the_last_learned_one_share_its_encoding() -> None:
    layer = Positions("learned", 3)
    layer.build((None, None, 4))
    found = np.asarray(layer(np.zeros((1, 5, 4), np.float32), np.arange(5)))[0]
    np.testing.assert_array_equal(found[:3], layer.table.value)
    np.testing.assert_array_equal(found[3:], [found[2]] * 2)
    assert len(np.unique(found, axis=0)) == 3


def test_the_causal_mask_shows_a_step_itself_and_earlier_steps() -> None:
    np.testing.assert_array_equal(causal_mask(3), [[1, 0, 0], [1, 1, 0], [1, 1, 1]])


@pytest.mark.parametrize("shape", [(4, 6), (3, 5, 6)])
def test_layer_normalisation_and_its_gradient_equal_those_of_keras(
    shape: tuple[int, ...], scramble: Callable[..., None]
) -> None:
    """The reference is Keras's layer with the same weights and TensorFlow's gradient."""
    layer, plain = LayerNormalization(), keras.layers.LayerNormalization()
    for one in (layer, plain):
        one.build(shape)
    scramble(layer)
    plain.set_weights(layer.get_weights())
    random = np.random.default_rng(4)
    values, upstream = (tf.constant(random.normal(1, 2, shape), tf.float32) for _ in range(2))
    found = []
    for call in (plain, layer, lambda values: layer(values, training=True)):
        weights = [values, *(tf.constant(weight) for weight in layer.get_weights())]
        pairs = zip(layer.weights + plain.weights, weights[1:] * 2, strict=True)
        with keras.StatelessScope(list(pairs)), tf.GradientTape() as tape:
            tape.watch(weights)
            made = call(values)
            loss = tf.reduce_sum(upstream * made)
        found.append([made, *tape.gradient(loss, weights)])
    for ours in found[1:]:
        for one, expected in zip(ours, found[0], strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-5)


def test_the_encoder_layer_equals_the_formulas_with_normalisation_first(scramble: Callable[..., None]) -> None:
    encoder = TransformerEncoder(TransformerConfig(encoder_layers=1, heads=1, feed_forward=10))
    encoder.build((None, None, WIDTH))
    scramble(encoder)
    w = {v.path.split("layer_1/")[-1]: np.asarray(v.value, np.float64) for v in encoder.trainable_variables}

    def normal(values: np.ndarray, name: str) -> np.ndarray:
        centred = values - values.mean(axis=-1, keepdims=True)
        deviation = np.sqrt(values.var(axis=-1, keepdims=True) + 1e-3)
        return centred / deviation * w[f"{name}/gamma"] + w[f"{name}/beta"]

    memory, final = encoder(MEMORY, LENGTHS)
    outer = next(name.removesuffix("/gamma") for name in w if name.endswith("norm/gamma") and "_norm" not in name)
    for row, length in enumerate(LENGTHS):
        x = MEMORY[row, :length] + np.asarray(sinusoids(np.arange(length), WIDTH))
        read = normal(x, "self_attention_norm")
        q, k, v = (
            read @ w[f"self_attention/{n}_kernel"] + w[f"self_attention/{n}_bias"] for n in ("query", "key", "value")
        )
        mixed = softmax(q @ k.T / np.sqrt(WIDTH)) @ v
        x = x + mixed @ w["self_attention/output_kernel"] + w["self_attention/output_bias"]
        hidden = np.maximum(normal(x, "feed_forward_norm") @ w["hidden/kernel"] + w["hidden/bias"], 0)
        x = x + hidden @ w["output/kernel"] + w["output/bias"]
        expected = normal(x, outer)
        np.testing.assert_allclose(np.asarray(memory)[row, :length], expected, atol=1e-4)
        np.testing.assert_allclose(np.asarray(final)[row], expected.mean(axis=0), atol=1e-4)


@pytest.mark.parametrize(("positions", "words"), [("sinusoidal", False), ("learned", False), ("sinusoidal", True)])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("mixed_bfloat16", 0.05)])
def test_unrolled_steps_equal_teacher_forcing(
    scramble: Callable[..., None], positions: Any, words: bool, dtype: str, tolerance: float
) -> None:
    config = TransformerConfig(decoder_layers=2, heads=2, feed_forward=10, positions=positions)
    decoder = TransformerDecoder(config, dtype=dtype, words_in_readout=words)
    decoder.build((None, None, WIDTH))
    scramble(decoder, scale=0.3)
    pieces = keras.ops.cast(WORDS, decoder.compute_dtype)
    readouts, weights = decoder(QUERIES, MEMORY, MEMORY[:, 0], MASK, pieces)
    source = decoder.source(MEMORY, MEMORY[:, 0], MASK, pieces)
    state = decoder.initial_state(MEMORY[:, 0], source, STEPS + 2)
    for step in range(STEPS):
        state = decoder.step(state, decoder.project_input(QUERIES[:, step]), source)
        read = decoder.readout(state, QUERIES[:, step], source)
        np.testing.assert_allclose(np.asarray(read, "f"), np.asarray(readouts[:, step], "f"), atol=tolerance)
        np.testing.assert_allclose(state.weights, weights[:, step], atol=tolerance)
    np.testing.assert_allclose(np.sum(weights, axis=-1), 1.0, atol=1e-5)


@pytest.mark.parametrize("layer", [1, 2])
def test_the_read_out_adds_the_attended_source_words(scramble: Callable[..., None], layer: int) -> None:
    """The difference is tanh(L sum_j alpha_ij E x_j + b), with the weights of the alignment layer."""
    config = TransformerConfig(decoder_layers=2, heads=2, feed_forward=10, alignment_layer=layer)
    decoder, without = (TransformerDecoder(config, words_in_readout=words) for words in (True, False))
    for one in (decoder, without):
        one.build((None, None, WIDTH))
    scramble(decoder, scale=0.3)
    own = {id(variable) for variable in decoder.words_layer.trainable_variables}
    common = [variable for variable in decoder.trainable_variables if id(variable) not in own]
    for old, new in zip(common, without.trainable_variables, strict=True):
        new.assign(old)
    kernel, bias = (np.asarray(variable.value) for variable in decoder.words_layer.trainable_variables)
    readouts, weights = decoder(QUERIES, MEMORY, MEMORY[:, 0], MASK, WORDS)
    plain, same = without(QUERIES, MEMORY, MEMORY[:, 0], MASK)
    np.testing.assert_array_equal(weights, same)
    for row in range(BATCH):
        attended = np.asarray(weights)[row][:, MASK[row]] @ WORDS[row, MASK[row]]
        np.testing.assert_allclose(readouts[row] - plain[row], np.tanh(attended @ kernel + bias), atol=1e-5)


def test_a_step_does_not_depend_on_later_pieces(scramble: Callable[..., None]) -> None:
    decoder = TransformerDecoder(SMALL)
    decoder.build((None, None, WIDTH))
    scramble(decoder, scale=0.3)
    changed = QUERIES.copy()
    changed[:, 2:] += RANDOM.normal(size=changed[:, 2:].shape)
    (one, one_weights), (two, two_weights) = (decoder(q, MEMORY, MEMORY[:, 0], MASK) for q in (QUERIES, changed))
    np.testing.assert_allclose(one[:, :2], two[:, :2], atol=1e-6)
    np.testing.assert_allclose(one_weights[:, :2], two_weights[:, :2], atol=1e-6)
    assert np.abs(one[:, 2] - two[:, 2]).max() > 1e-3


def test_the_alignment_layer_can_be_chosen(scramble: Callable[..., None]) -> None:
    def weights(layer: int) -> np.ndarray:
        decoder = TransformerDecoder(TransformerConfig(decoder_layers=3, heads=2, alignment_layer=layer))
        decoder.build((None, None, WIDTH))
        scramble(decoder, scale=0.3)
        return np.asarray(decoder(QUERIES, MEMORY, MEMORY[:, 0], MASK)[1])

    first, second, third, chosen = (weights(layer) for layer in (1, 2, 3, 0))
    np.testing.assert_array_equal(chosen, third)
    assert np.abs(first - second).max() > 1e-3
    assert np.abs(second - third).max() > 1e-3
    with pytest.raises(ConfigError, match="alignment_layer is 4: expected 0, or a layer from 1 to 3"):
        TransformerConfig(alignment_layer=4)


@pytest.mark.parametrize(
    ("kind", "options"), [(TransformerEncoder, {}), (TransformerDecoder, {"words_in_readout": True})]
)
def test_the_layer_can_be_rebuilt_from_its_configuration(kind: Any, options: dict[str, Any]) -> None:
    layer = kind(SMALL, dropout=0.25, seed=3, dtype="mixed_bfloat16", **options)
    copy: Any = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert copy.get_config() == layer.get_config()
    assert copy.config == SMALL


def test_residual_dropout_applies_in_training_only(scramble: Callable[..., None]) -> None:
    encoder = TransformerEncoder(SMALL, dropout=0.5)
    encoder.build((None, None, WIDTH))
    scramble(encoder, scale=0.3)
    exact = np.asarray(encoder(MEMORY, LENGTHS).memory)
    one, two = (np.asarray(encoder(MEMORY, LENGTHS, training=True).memory) for _ in range(2))
    assert np.abs(one - exact).max() > 1e-2
    assert np.abs(one - two).max() > 1e-2
    np.testing.assert_array_equal(encoder(MEMORY, LENGTHS).memory, exact)


@pytest.mark.parametrize("words", [False, True])
def test_the_number_of_parameters(make_model: Callable, words: bool) -> None:
    """Width 8, hidden layer 10: attention 4 (8 x 8 + 8) = 288, network 8 x 10 + 10 + 10 x 8 + 8 = 178, norm 16;
    attended words 8 x 8 + 8 = 72."""
    model = make_model(architecture="transformer", embedding=8, transformer=SMALL, words_in_readout=words)
    encoder, decoder = 288 + 178 + 2 * 16, 2 * 288 + 178 + 3 * 16
    assert model.count_params() == 2 * encoder + 16 + 2 * decoder + 16 + 12 * 8 + 12 + 72 * words
    assert PAD == 0
