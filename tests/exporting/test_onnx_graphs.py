"""The exported graphs compute what the Keras model computes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx_sessions import assert_equal_steps, graphs_of, keras_steps, onnx_steps, run_graph

from nmt.config import AttentionConfig, TransformerConfig
from nmt.exporting.onnx import scores, windows
from nmt.exporting.onnx.graph import SMALL, Graph
from nmt.exporting.onnx.quantizing import float_rows, in_blocks
from nmt.network.attention import SCORES, WINDOWS
from nmt.run.exported import PRECISIONS
from nmt.text.pieces import EOS, PAD

NARROW = AttentionConfig(units=5, reach=2, positions=4)
TINY = TransformerConfig(encoder_layers=2, decoder_layers=2, heads=2, feed_forward=10, longest=4)

ATTENTIONS = [
    NARROW,
    replace(NARROW, score="none"),
    *(replace(NARROW, score=score) for score in ("dot", "scaled_dot", "general", "gaussian", "location")),
    *(replace(NARROW, window=window) for window in ("local_m", "local_p", "hard")),
    *(replace(NARROW, score=score, coverage=True) for score in ("additive", "general", "gaussian")),
]

NETWORKS = [
    *({"attention": attention, "embedding": 8} for attention in ATTENTIONS),
    {"cell": "lstm", "encoder_layers": 2, "tie": "none", "readout": 7, "memory": 10},
    {"piece_in_query": False, "words_in_readout": False, "tie": "target"},
    *(
        {"decoder": "luong", "cell": cell, "input_feeding": fed, "attention": replace(NARROW, score="general")}
        for cell, fed in product(("gru", "lstm"), (True, False))
    ),
    *(
        {"architecture": kind, "embedding": 8, "transformer": replace(TINY, positions=positions, alignment_layer=1)}
        for kind, positions in product(("transformer", "mixed"), ("sinusoidal", "learned"))
    ),
    {"architecture": "transformer", "embedding": 8, "transformer": TINY, "words_in_readout": False, "tie": "none"},
]

PIECES = 12
"""Vocabulary of the tiny models of `make_model`."""

RANDOM = np.random.default_rng(0)
SOURCE = np.full((4, 7), PAD, np.int32)
for row, length in enumerate((6, 1, 3, 0)):
    SOURCE[row, : length + 1] = [*RANDOM.integers(EOS + 1, PIECES, length), EOS]
TARGETS = RANDOM.integers(EOS + 1, PIECES, (4, 3)).astype(np.int32)


AGAIN = 4, 5, 10, 11, 16, 17, 19, 22
"""Networks whose parts other networks have too: they are tested with the slow tests."""


@pytest.mark.parametrize(
    "network",
    [pytest.param(one, marks=pytest.mark.slow if i in AGAIN else []) for i, one in enumerate(NETWORKS)],
    ids=str,
)
def test_every_network_gives_the_logits_and_the_attention_of_the_keras_model(make_model, network):
    model = make_model(**network)
    graphs = graphs_of(model)
    assert_equal_steps(onnx_steps(graphs, SOURCE, TARGETS), keras_steps(model, SOURCE, TARGETS), 1e-5)
    if model.config.attention.score != "none":  # its context is the final state, which each step multiplies
        assert not {"MatMul", "Tanh", "Softmax"} & operators_on_the_source_alone(graphs)


def operators_on_the_source_alone(graphs):
    """The operators of a step whose results depend on the encoded source alone: each step repeats them."""
    source = {spec.name for spec in graphs.encoded}
    read: dict[str, set[str]] = {one.name: {one.name} for one in graphs.step.graph.input}
    found = set()
    for node in graphs.step.graph.node:
        needed = set().union(*(read.get(name, set()) for name in node.input))
        read.update(dict.fromkeys(node.output, needed))
        if needed and needed <= source:
            found.add(node.op_type)
    return found


@pytest.mark.parametrize("network", NETWORKS[:: len(NETWORKS) - 2], ids=str)
def test_batch_mates_and_padding_change_nothing(make_model, network):
    graphs = graphs_of(make_model(**network))
    together = onnx_steps(graphs, SOURCE, TARGETS)
    for row in range(len(SOURCE)):
        length = int((SOURCE[row] != PAD).sum())
        alone = onnx_steps(graphs, SOURCE[row : row + 1, :length], TARGETS[row : row + 1])
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_allclose(one.logits[0], other.logits[row], atol=1e-5)
            np.testing.assert_allclose(one.weights[0], other.weights[row, :length], atol=1e-6)
            assert not other.weights[row, length:].any()


def test_every_score_and_window_can_be_exported():
    assert scores.SCORES.keys() >= SCORES.keys()
    assert windows.WINDOWS.keys() >= WINDOWS.keys()


def test_half_precision_is_stored_and_float32_computed(make_model):
    model = make_model(embedding=32, sizes=(40, 40))
    whole, half = graphs_of(model), graphs_of(model, "float16")
    assert half.step.ByteSize() < 0.75 * whole.step.ByteSize()
    for variable in model.trainable_variables:
        if np.asarray(variable).size >= SMALL:
            variable.assign(np.asarray(variable).astype(np.float16).astype(np.float32))
    rounded = graphs_of(model)
    assert_equal_steps(onnx_steps(half, SOURCE, TARGETS), onnx_steps(rounded, SOURCE, TARGETS), 1e-5)


def test_a_weight_beyond_half_precision_stays_float32(make_model):
    model = make_model(embedding=32, sizes=(40, 40))
    variable = next(v for v in model.trainable_variables if v.path.endswith("target_embedding/embeddings"))
    variable.assign(np.full(variable.shape, 1e5, np.float32))
    stored = [numpy_helper.to_array(one) for one in graphs_of(model, "float16").step.graph.initializer]
    assert all(np.isfinite(array).all() for array in stored if array.dtype.kind == "f")
    assert {array.dtype for array in stored if array.shape == variable.shape} == {np.dtype(np.float32)}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_short_list_gives_the_columns_of_its_pieces(make_model, precision):
    graphs = graphs_of(make_model(), precision)
    listed = [EOS, 5, 9, 10]
    some, every = onnx_steps(graphs, SOURCE, TARGETS, listed), onnx_steps(graphs, SOURCE, TARGETS)
    for one, other in zip(some, every, strict=True):
        # With a list, int8 rounds the read-outs of all rows with one scale.
        tolerance = 1e-5 if precision != "int8" else 0.01 * np.abs(other.logits).max()
        np.testing.assert_allclose(one.logits, other.logits[:, listed], atol=tolerance)
        np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize("in_browser", [False, True], ids=["program", "browser"])
@pytest.mark.parametrize("network", NETWORKS[:: len(NETWORKS) - 2], ids=str)
def test_int8_is_near_float32(make_model, network, in_browser):
    """Random weights have sharper attention than trained ones: a hundredth of the logits' range is much here."""
    model = make_model(**network)
    found = onnx_steps(graphs_of(model, "int8", in_browser), SOURCE, TARGETS)
    expected = onnx_steps(graphs_of(model), SOURCE, TARGETS)
    differences = [np.abs(one.logits - other.logits).mean() for one, other in zip(found, expected, strict=True)]
    assert 0 < np.mean(differences) < 0.03 * np.std([step.logits for step in expected])


@pytest.mark.parametrize("network", [NETWORKS[0], NETWORKS[-1]], ids=["recurrent", "transformer"])
def test_int8_gives_a_sentence_one_result_whatever_stands_beside_it(make_model, network):
    graphs = graphs_of(make_model(**network), "int8")
    together = onnx_steps(graphs, SOURCE, TARGETS)
    for row, source in enumerate(SOURCE[:3]):
        alone = onnx_steps(graphs, source[None, : np.count_nonzero(source != PAD)], TARGETS[row : row + 1])
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_allclose(one.logits[0], other.logits[row], rtol=0, atol=1e-5)


@pytest.mark.parametrize("width", [1, 31, 64, 300, 512])
@pytest.mark.parametrize("how", [{}, {"in_browser": True}, {"one_scale": True}], ids=str)
def test_a_matrix_in_int8_is_near_the_matrix(width, how):
    matrix = np.random.default_rng(width).normal(size=(3, width)).astype(np.float32)
    matrix[1] = 0
    blocks = in_blocks(matrix, **{"in_browser": False, **how})
    graph = Graph("rows", "int8")
    graph.output("matrix", float_rows(graph, blocks), "float32", ("rows", "width"))
    found = run_graph(graph.proto(), {})["matrix"]
    np.testing.assert_array_equal(found[1], 0)
    bounds = np.repeat(blocks.scales, blocks.values.shape[2], axis=1)[:, :width] / 2
    assert (np.abs(found - matrix) <= bounds * 1.001).all()


def test_int8_stores_every_matrix_but_columns_as_whole_numbers(make_model):
    model = make_model(cell="lstm", units=16, embedding=16, attention=replace(NARROW, units=16, window="local_p"))
    for proto in graphs_of(model, "int8")[:2]:
        left = [weight for weight in proto.graph.initializer if weight.data_type == onnx.TensorProto.FLOAT]
        # Columns, biases and scales; both directions of the encoder have their biases in one array.
        assert all(np.prod(weight.dims) < 16 * 16 or weight.dims[0] == 2 for weight in left)
