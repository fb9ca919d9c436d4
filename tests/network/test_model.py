"""The whole model: tying, parameter counts, teacher forcing against single steps, padding, dropout, precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from nmt.config import AttentionConfig, DropoutConfig, ModelConfig, TransformerConfig
from nmt.network.dropout import Dropout
from nmt.network.model import Seq2Seq
from nmt.text.pieces import BOS, EOS, PAD

SOURCE = np.array([[4, 7, 9, 5, 11, EOS], [6, 8, EOS, PAD, PAD, PAD], [10, 4, 4, 7, EOS, PAD]], np.int32)
TARGET = np.array([[BOS, 5, 6, 11, 7], [BOS, 9, 10, PAD, PAD], [BOS, 8, PAD, PAD, PAD]], np.int32)
LENGTHS = np.array([5, 3, 2])
NONE = {"embedding": 0.0, "encoder": 0.0, "state": 0.0, "context": 0.0, "readout": 0.0}


@pytest.mark.parametrize("changes", [{}, {"encoder_layers": 2, "tie": "none"}])
def test_unrolled_steps_equal_teacher_forcing(make_model: Callable, changes: dict[str, Any]) -> None:
    model = make_model(**changes)
    logits, weights = model(SOURCE, TARGET)
    state, encoded = model.start(SOURCE)
    for step in range(TARGET.shape[1]):
        readout, state = model.step(TARGET[:, step], state, encoded)
        np.testing.assert_allclose(model.logits(readout), logits[:, step], atol=1e-5)
        np.testing.assert_allclose(model.logits(readout, parts=5), logits[:, step], atol=1e-5)
        np.testing.assert_allclose(state.weights, weights[:, step], atol=1e-5)


def test_a_sentence_does_not_depend_on_its_batch_or_padding(make_model: Callable) -> None:
    model = make_model(encoder_layers=2)
    logits, weights = model(SOURCE, TARGET)
    for row, (positions, steps) in enumerate(zip((SOURCE != PAD).sum(axis=1), LENGTHS, strict=True)):
        alone_logits, alone_weights = model(SOURCE[row : row + 1, :positions], TARGET[row : row + 1, :steps])
        np.testing.assert_allclose(alone_logits[0], logits[row, :steps], atol=1e-5)
        np.testing.assert_allclose(alone_weights[0], weights[row, :steps, :positions], atol=1e-5)
        assert not np.asarray(weights)[row, :, positions:].any()


def test_logits_depend_on_every_source_piece_and_on_earlier_target_pieces(model: Any) -> None:
    """A changed source piece changes all steps, a changed target piece the steps from it on."""
    logits = np.asarray(model(SOURCE, TARGET)[0])
    source, target = SOURCE.copy(), TARGET.copy()
    source[0, 2], target[0, 2] = 8, 9
    other = np.abs(np.asarray(model(source, TARGET)[0]) - logits).max(axis=-1)
    assert (other[0] > 1e-3).all()
    assert (other[1:] < 1e-5).all()
    later = np.abs(np.asarray(model(SOURCE, target)[0]) - logits).max(axis=-1)
    assert (later[0, :2] < 1e-5).all()
    assert (later[0, 2:] > 1e-3).all()


# Parameters counted on paper, for units 8, embedding 6, attention 5:
# an LSTM of 4 units over 6 has 4 * (6 * 4 + 4 * 4 + 4) = 176, over 8 (a second layer) 4 * (8 * 4 + 4 * 4 + 4) = 208
# GRU: embedding 6 * 24 + context 8 * 24 + state 8 * 24 + biases 24 + 8 = 560
# attention 8 * 5 + 8 * 5 + 5 + 5 = 90, bridge 8 * 8 + 8 = 72, read-out (8 + 8 + 6) * 6 + 6 = 138
INNER = 2 * 176 + 560 + 90 + 72 + 138
WORDS = 6 * 6 + 6  # the layer of the attended source words


@pytest.mark.parametrize(
    ("tie", "sizes", "layers", "parameters"),
    [
        ("all", (12, 12), 1, INNER + 12 * 6 + 12),
        ("all", (12, 12), 3, INNER + 12 * 6 + 12 + 4 * 208),
        ("target", (11, 12), 1, INNER + 11 * 6 + 12 * 6 + 12),
        ("none", (11, 12), 1, INNER + 11 * 6 + 2 * 12 * 6 + 12),
    ],
)
@pytest.mark.parametrize(("piece_in_query", "words"), [(True, True), (False, True), (True, False)])
def test_the_number_of_parameters(
    make_model: Callable,
    tie: str,
    sizes: tuple[int, int],
    layers: int,
    parameters: int,
    piece_in_query: bool,
    words: bool,
) -> None:
    parameters += 6 * 5 * piece_in_query + WORDS * words  # the projection of the piece in the query
    options = {"piece_in_query": piece_in_query, "words_in_readout": words}
    model = make_model(tie=tie, sizes=sizes, encoder_layers=layers, **options)
    assert model.count_params() == parameters
    assert sum(int(np.prod(v.shape)) for v in model.trainable_variables) == parameters
    assert model(np.minimum(SOURCE, 10), TARGET)[0].shape == (3, 5, 12)


def test_the_number_of_parameters_with_other_widths_of_memory_and_read_out(make_model: Callable) -> None:
    """Memory 4: LSTMs of 2 units over 6, 4 * (6 * 2 + 2 * 2 + 2) = 72; GRU 6 * 24 + 4 * 24 + 8 * 24 + 24 + 8 = 464;
    attention 8 * 5 + 4 * 5 + 5 + 5 + 6 * 5 = 100; bridge 4 * 8 + 8 = 40; read-out (8 + 4 + 6) * 3 + 3 = 57;
    attended words 6 * 3 + 3."""
    model = make_model(tie="none", memory=4, readout=3)
    assert model.count_params() == 2 * 72 + 464 + 100 + 40 + 57 + 21 + 2 * 12 * 6 + 12 * 3 + 12
    assert model(SOURCE, TARGET)[0].shape == (3, 5, 12)


@pytest.mark.parametrize(
    ("tie", "source_follows", "output_follows"),
    [("all", True, True), ("target", False, True), ("none", False, False)],
)
def test_tied_embeddings_are_one_variable(
    make_model: Callable, tie: str, source_follows: bool, output_follows: bool
) -> None:
    """A change of a target embedding changes the tied source embedding and the tied logit."""
    model = make_model(tie=tie)
    readout = np.ones((1, 6), np.float32)
    piece = np.array([[7]])

    def read() -> tuple[Any, Any, Any]:
        source = model.embed(piece, model.source_embedding, False)
        return source, model.embed(piece, model.target_embedding, False), model.logits(readout)

    before = [np.asarray(values) for values in read()]
    table = np.asarray(model.target_embedding.embeddings.value).copy()
    table[7] += 1.0
    model.target_embedding.embeddings.assign(table)
    source, target, logits = (np.abs(new - old) for new, old in zip(read(), before, strict=True))
    assert (target > 0.5).all()
    assert bool((source > 0.5).all()) == source_follows
    assert bool(logits[0, 7] > 0.5) == output_follows
    assert not np.delete(logits[0], 7).any()


def test_initial_embeddings_have_unit_variance() -> None:
    keras.utils.set_random_seed(0)
    model = Seq2Seq(ModelConfig(units=8, embedding=32, attention=AttentionConfig(units=4)), 500, 500)
    model.build()
    embedded = np.asarray(model.embed(np.arange(500)[None], model.source_embedding, False))
    np.testing.assert_allclose(embedded.std(), 1.0, atol=0.03)


def test_tying_all_embeddings_needs_vocabularies_of_equal_size() -> None:
    with pytest.raises(ValueError, match="one vocabulary; got 11 and 12"):
        Seq2Seq(ModelConfig(units=8, tie="all"), 11, 12)


def test_without_dropout_training_equals_inference(model: Any) -> None:
    for one, two in zip(model(SOURCE, TARGET, training=True), model(SOURCE, TARGET, training=False), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("place", NONE)
def test_each_dropout_applies_in_training_only(make_model: Callable, model: Any, place: str) -> None:
    noisy = make_model(dropout=DropoutConfig(**{**NONE, place: 0.5}))
    exact, exact_weights = model(SOURCE, TARGET)
    np.testing.assert_array_equal(noisy(SOURCE, TARGET)[0], exact)
    (one, one_weights), (two, _) = (noisy(SOURCE, TARGET, training=True) for _ in range(2))
    assert np.abs(one - exact).max() > 1e-2
    assert np.abs(one - two).max() > 1e-2
    # Dropout in front of the memory changes the memory. Dropout of the state changes attention after the first step.
    memory_differs = np.abs(noisy.encode(SOURCE, training=True)[0] - model.encode(SOURCE)[0]).max() > 1e-2
    assert memory_differs == (place in ("embedding", "encoder"))
    weights_differ = np.abs(np.asarray(one_weights) - exact_weights).max(axis=(0, 2)) > 1e-4
    assert weights_differ[0] == (place in ("embedding", "encoder"))
    assert weights_differ[1:].any() == (place != "readout")


def test_embedding_dropout_scales_the_values_that_it_keeps(make_model: Callable) -> None:
    model = make_model(dropout=DropoutConfig(**{**NONE, "embedding": 0.25}))
    ids = np.random.default_rng(0).integers(4, 12, (50, 20))
    for layer in (model.source_embedding, model.target_embedding):
        exact, dropped = (np.asarray(model.embed(ids, layer, training)) for training in (False, True))
        kept = dropped != 0
        assert 0.72 < kept.mean() < 0.78
        np.testing.assert_allclose(dropped[kept], exact[kept] / 0.75, rtol=1e-5)


def test_the_logits_of_a_fully_dropped_read_out_are_the_bias(make_model: Callable) -> None:
    """At a rate of 0.999, most read-outs are dropped as a whole."""
    model = make_model(dropout=DropoutConfig(**{**NONE, "readout": 0.999}))
    logits = np.asarray(model(SOURCE, TARGET, training=True)[0])
    dropped = np.isclose(logits, np.asarray(model.output_bias.value), atol=1e-6).all(axis=-1)
    assert dropped.mean() > 0.8


@pytest.mark.parametrize(("policy", "tolerance"), [("mixed_bfloat16", 0.2), ("mixed_float16", 0.03)])
def test_mixed_precision_stays_near_float32(make_model: Callable, model: Any, policy: str, tolerance: float) -> None:
    mixed = make_model(dtype=policy)
    logits, weights = mixed(SOURCE, TARGET)
    exact, exact_weights = model(SOURCE, TARGET)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    assert keras.backend.standardize_dtype(weights.dtype) == "float32"
    assert {v.dtype for v in mixed.trainable_variables} == {"float32"}
    np.testing.assert_allclose(logits, exact, atol=tolerance)
    np.testing.assert_allclose(weights, exact_weights, atol=tolerance / 4)
    assert np.abs(logits - exact).max() > 1e-5  # products are in half precision


@pytest.mark.parametrize("architecture", ["rnn", "transformer", "mixed"])
def test_all_dropout_layers_have_different_seeds(architecture: str) -> None:
    """Two layers with one seed and one shape would always drop the same values."""
    rates = DropoutConfig(*[0.5] * 6)
    layers = TransformerConfig(encoder_layers=8, decoder_layers=8)
    model = Seq2Seq(ModelConfig(architecture, dropout=rates, transformer=layers), 12, 12)
    seeds = [layer.seed for layer in model._flatten_layers() if isinstance(layer, Dropout)]
    assert len(seeds) == {"rnn": 5, "transformer": 18, "mixed": 12}[architecture]
    assert len({*seeds}) == len(seeds)
