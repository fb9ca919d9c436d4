"""CTranslate2 computes an exported Transformer as Keras does."""

from __future__ import annotations

from dataclasses import replace

import ctranslate2
import numpy as np
import pytest

import nmt
from nmt.cli import main
from nmt.config import SearchConfig, TransformerConfig
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.run.exported import read_export
from nmt.text.pieces import BOS, PAD

SIZES = TransformerConfig(encoder_layers=2, decoder_layers=3, heads=2, feed_forward=10, longest=4)
NETWORKS = [
    {"transformer": SIZES},
    {"transformer": replace(SIZES, positions="learned", alignment_layer=2), "tie": "none"},
]
LINES = ["ba be bi bo bu ka", "ki", "ke ke"]
TARGETS = ["ka ki", "ba be bi bo bu ka", "ki"]


@pytest.fixture(scope="module", params=NETWORKS, ids=["sinusoidal", "learned"])
def pair(request, make_run, tmp_path_factory):
    """A run, and its export."""
    place = tmp_path_factory.mktemp("ctranslate2")
    make_run(place / "run", architecture="transformer", embedding=8, words_in_readout=False, **request.param)
    run = Run.open(place / "run")
    weights = run.weights()
    weights["seq2seq/output_bias"][[PAD, BOS]] = -30  # training makes them rare; CTranslate2 never chooses them
    run.save_weights(weights)
    assert main(["export", "--model", f"{place}/run", "--output", f"{place}/out", "--format", "ctranslate2"]) == 0
    return nmt.Translator.load(place / "run"), place / "out"


def pieces(texts: list[str]) -> list[list[str]]:
    return [[f"\u2581{word}" for word in text.split()] for text in texts]


def test_scores_translations_and_alignments_are_equal(pair):
    translator, directory = pair
    model = ctranslate2.Translator(str(directory / "ctranslate2"), intra_threads=1)
    scored = model.score_batch(pieces(LINES), pieces(TARGETS))
    expected = list(translator.align(LINES, TARGETS))
    found = model.translate_batch(pieces(LINES), beam_size=1, max_decoding_length=8, return_attention=True)
    greedy = list(translator.translate(LINES, SearchConfig(beam_size=1)))
    for index in range(len(LINES)):
        log_probability = sum(scored[index].log_probs)
        assert log_probability == pytest.approx(expected[index].log_probability, abs=1e-3)
        hypothesis = found[index].hypotheses[0]
        assert hypothesis == pieces([greedy[index].text])[0][: len(hypothesis)]
        attention, weights = np.array(found[index].attention[0]), greedy[index].alignment.weights
        assert len(attention) > 3 or len(hypothesis) < 4
        np.testing.assert_allclose(attention[: len(weights)], weights[: len(attention)], atol=1e-4)


def test_nmt_verifies_such_an_export_and_does_not_translate_with_it(pair, capsys):
    _, directory = pair
    assert main(["verify", str(directory)]) == 0
    assert "all as nmt wrote them" in capsys.readouterr().out
    with pytest.raises(NmtError, match="out: is an export for ctranslate2; nmt translates with exports in onnx$"):
        read_export(directory)
