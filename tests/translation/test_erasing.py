"""Erasing source words: the log-probabilities of the target without them, from the encoder or from attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.text.pieces import BOS, EOS
from nmt.translation.inference.model_inference import ModelInference

SOURCES = [[4, 7, 9, 5], [6], [10, 4, 4, 7, 11, 8, 5, 6], [9, 9], [11, 5, 7], []]
ERASED = [[(), (0,), (1, 2)], [()], [(), (3,), (0, 7)], [(), (0, 1)], [(1,), ()], [()]]
TARGETS = [[5, 6], [7, 8, 9, 4], [], [11], [4, 4, 4], [5]]


def test_erasing_words_equals_scoring_the_sentence_without_them(engine: ModelInference) -> None:
    found = engine.erase(SOURCES, TARGETS, ERASED, "word")
    for source, target, sets, rows in zip(SOURCES, TARGETS, ERASED, found, strict=True):
        assert rows.shape == (len(sets), len(target) + 1)
        for places, row in zip(sets, rows, strict=True):
            rest = [piece for place, piece in enumerate(source) if place not in places]
            assert row.sum() == pytest.approx(engine.score([rest], [target])[0].log_probability, abs=1e-4)


def test_erasing_from_attention_equals_decoding_with_a_narrower_mask(engine: ModelInference) -> None:
    """The encoder reads the whole sentence; at each step, the decoder attends to the rest of it."""
    found = engine.erase(SOURCES, TARGETS, ERASED, "attention")
    model = engine.models[0]
    for source, target, sets, rows in zip(SOURCES, TARGETS, ERASED, found, strict=True):
        for places, row in zip(sets, rows, strict=True):
            state, encoded = model.start(np.array([[*source, EOS]]))
            seen = np.array([[place not in places for place in range(len(source) + 1)]])
            encoded, steps = encoded._replace(mask=seen), []
            for last, piece in zip([BOS, *target], [*target, EOS], strict=True):
                readout, state = model.step(np.array([last]), state, encoded)
                steps.append(float(keras.ops.log_softmax(model.logits(readout))[0, piece]))
                assert not np.asarray(state.weights)[~seen].any()
            np.testing.assert_allclose(row, steps, atol=1e-4)


@pytest.mark.parametrize("method", ["word", "attention"])
def test_erasures_do_not_depend_on_order_batch_mates_or_budget(engine: ModelInference, method: Any) -> None:
    together = engine.erase(SOURCES, TARGETS, ERASED, method)
    backwards = engine.erase(SOURCES[::-1], TARGETS[::-1], ERASED[::-1], method)[::-1]
    narrow = engine.erase(SOURCES, TARGETS, ERASED, method, batch_tokens=1)
    for ours, theirs, alone in zip(together, backwards, narrow, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
        np.testing.assert_allclose(ours, alone, atol=1e-5)
    assert engine.erase([], [], []) == []
    assert engine.erase([[4]], [[5]], [[]])[0].shape[0] == 0


def test_erasing_an_ignored_word_changes_nothing(make_model: Callable) -> None:
    """The encoder adds up the words, with the input gate shut for one of them; the decoder reads only the sum."""
    model, ignored, units = make_model(seed=3, words_in_readout=False), 7, 4
    table = np.array(model.source_embedding.embeddings)
    table[:, 0], table[ignored] = 0, [100, 0, 0, 0, 0, 0]
    model.source_embedding.embeddings.assign(table)
    (layer,) = model.encoder.layers
    for cell in (layer.forward.cell, layer.backward.cell):
        kernel = np.zeros((6, 4 * units))
        kernel[0, :units] = -50  # the input gate, shut by the ignored word
        kernel[1:, 2 * units : 3 * units] = np.random.default_rng(0).normal(size=(5, units))
        cell.kernel.assign(kernel)
        cell.recurrent_kernel.assign(np.zeros((units, 4 * units)))
        cell.bias.assign(np.repeat([0.0, 50.0, 0.0, 1.0], units))  # nothing is forgotten
    decoder = model.decoder
    decoder.context_kernel.assign(np.zeros(decoder.context_kernel.shape))
    readout = np.array(decoder.readout_layer.kernel)
    readout[8:16] = 0  # the context vector's
    decoder.readout_layer.kernel.assign(readout)
    (rows,) = ModelInference(model).erase([[4, ignored, 9, 5]], [[6, 8]], [[(), (0,), (1,), (2,), (3,)]])
    falls = np.abs(rows[0] - rows[1:])
    assert falls[1].max() < 1e-5
    assert falls[[0, 2, 3]].max(axis=1).min() > 1e-3
    (rows,) = ModelInference(model).erase([[4, ignored, 9, 5]], [[6, 8]], [[(), (0,), (1,), (2,), (3,)]], "attention")
    np.testing.assert_allclose(rows, rows[:1].repeat(5, axis=0), atol=1e-5)  # the decoder looks at none of them


def test_hiding_a_position_from_uniform_attention_over_equal_memory_changes_nothing(make_model: Callable) -> None:
    """Energies of zero give uniform attention. If the memory is equal at all positions, any of them can stand for the
    others."""
    model = make_model(seed=3, words_in_readout=False)
    kernel = model.decoder.attention.score.energy_kernel
    kernel.assign(np.zeros(kernel.shape))
    engine, sets = ModelInference(model), [[(), (0,), (2,), (0, 1, 2)]]
    np.testing.assert_allclose(engine.score([[4, 9, 5]], [[6, 8]])[0].weights, 0.25, atol=1e-6)
    apart = engine.erase([[4, 9, 5]], [[6, 8]], sets, "attention")[0]
    assert np.abs(apart[1:] - apart[0]).max(axis=1).min() > 1e-3
    for layer in model.encoder.layers:
        for cell in (layer.forward.cell, layer.backward.cell):
            cell.kernel.assign(np.zeros(cell.kernel.shape))
            cell.recurrent_kernel.assign(np.zeros(cell.recurrent_kernel.shape))
            cell.bias.assign(np.repeat([9.0, -99.0, 1.0, 9.0], 4))  # only the present counts, and says the same
    alike = engine.erase([[4, 9, 5]], [[6, 8]], sets, "attention")[0]
    np.testing.assert_allclose(alike, alike[:1].repeat(4, axis=0), atol=1e-5)


@given(places=st.lists(st.sets(st.integers(0, 7), max_size=8), max_size=4))
def test_each_erased_set_has_a_row_of_log_probabilities(engine: ModelInference, places: list[set]) -> None:
    (rows,) = engine.erase([SOURCES[2]], [[5, 6]], [[(), *places]])
    assert rows.shape == (len(places) + 1, 3)
    assert (rows <= 0).all()
    for chosen, row in zip(places, rows[1:], strict=True):
        if not chosen:
            np.testing.assert_allclose(row, rows[0], atol=1e-5)
