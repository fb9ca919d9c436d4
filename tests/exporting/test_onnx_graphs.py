"""The exported graphs compute what the Keras model computes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from onnx_sessions import assert_equal_steps, graphs_of, keras_steps, onnx_steps

from nmt.config import AttentionConfig, TransformerConfig
from nmt.exporting.onnx import scores, windows
from nmt.exporting.onnx.graph import SMALL
from nmt.network.attention import SCORES, WINDOWS
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
TARGETS = RANDOM.integers(EOS + 1, PIECES, (4, 4)).astype(np.int32)


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_every_network_gives_the_logits_and_the_attention_of_the_keras_model(make_model, network):
    model = make_model(**network)
    assert_equal_steps(onnx_steps(graphs_of(model), SOURCE, TARGETS), keras_steps(model, SOURCE, TARGETS), 1e-5)


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
