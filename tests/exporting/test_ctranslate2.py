"""CTranslate2 computes an exported Transformer as its ONNX export is computed, which equals the Keras model."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import ctranslate2
import numpy as np
import pytest
from processor import SUMS_OF_8_BITS_ARE_EXACT

import nmt
from nmt.cli import main
from nmt.config import SearchConfig, TransformerConfig
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.run.exported import PRECISIONS, read_export
from nmt.text.pieces import BOS, PAD

SIZES = TransformerConfig(encoder_layers=2, decoder_layers=3, heads=2, feed_forward=10, longest=4)
NETWORKS = [
    {"transformer": SIZES},
    {"transformer": replace(SIZES, positions="learned", alignment_layer=2), "tie": "none"},
]
LINES = ["ba be bi bo bu ka", "ki", "ke ke"]
TARGETS = ["ka ki", "ba be bi bo bu ka", "ki"]
LEARNT = ["ba", "be", "bi", "bo", "bu", "ka", "ke", "ki", "\u2047"]  # the last one stands for unknown words


@pytest.fixture(scope="module", params=NETWORKS, ids=["sinusoidal", "learned"])
def place(request, make_run, tmp_path_factory):
    """A folder with a run, and its exports for ONNX and for CTranslate2."""
    place = tmp_path_factory.mktemp("ctranslate2")
    make_run(place / "run", architecture="transformer", embedding=8, words_in_readout=False, **request.param)
    run = Run.open(place / "run")
    weights = run.weights()
    weights["seq2seq/output_bias"][[PAD, BOS]] = -30  # training makes them rare; CTranslate2 never chooses them
    run.save_weights(weights)
    export(place, "onnx", "onnx")
    export(place, "ctranslate2", "float32")
    return place


def export(place, form, name, precision="float32"):
    command = ["export", "--model", f"{place}/run", "--output", f"{place}/{name}", "--format", form]
    assert main([*command, "--precision", precision]) == 0


def pieces(texts: list[str]) -> list[list[str]]:
    return [[f"\u2581{word}" for word in text.split()] for text in texts]


def scores(model: ctranslate2.Translator) -> list[float]:
    return [sum(scored.log_probs) for scored in model.score_batch(pieces(LINES), pieces(TARGETS))]


def test_scores_translations_and_alignments_are_equal(place):
    translator = nmt.Translator.load(place / "onnx")
    model = ctranslate2.Translator(str(place / "float32" / "ctranslate2"), intra_threads=1)
    expected = [pair.log_probability for pair in translator.align(LINES, TARGETS)]
    np.testing.assert_allclose(scores(model), expected, atol=1e-3)
    found = model.translate_batch(pieces(LINES), beam_size=1, max_decoding_length=8, return_attention=True)
    greedy = list(translator.translate(LINES, SearchConfig(beam_size=1)))
    for index in range(len(LINES)):
        hypothesis = found[index].hypotheses[0]
        assert hypothesis == pieces([greedy[index].text])[0][: len(hypothesis)]
        attention, weights = np.array(found[index].attention[0]), greedy[index].alignment.weights
        assert len(attention) > 3 or len(hypothesis) < 4
        np.testing.assert_allclose(attention[: len(weights)], weights[: len(attention)], atol=1e-4)


def test_a_beam_of_five_finds_the_same(place):
    """Without length normalisation, and with the longest translations of nmt. CTranslate2 keeps finished hypotheses
    beside the beam, so only the best ones are equal."""
    model = ctranslate2.Translator(str(place / "float32" / "ctranslate2"), intra_threads=1)
    search = SearchConfig(beam_size=5, length_penalty=0.0)
    expected = list(nmt.Translator.load(place / "onnx").translate_nbest(LINES, search, nbest=2))
    for line, others in zip(LINES, expected, strict=True):
        lengths = {"min_decoding_length": 0, "max_decoding_length": 2 * len(line.split()) + 10}
        (found,) = model.translate_batch(
            pieces([line]), beam_size=5, num_hypotheses=2, length_penalty=0, return_scores=True, **lengths
        )
        assert found.hypotheses == pieces([other.text for other in others])
        np.testing.assert_allclose(found.scores, [other.log_probability for other in others], atol=1e-3)


def test_smaller_precisions_give_nearly_the_same_scores(place):
    """Random weights have sharper attention than trained ones, so rounding shows more here."""
    found = []
    for precision in PRECISIONS:
        if precision != "float32":
            export(place, "ctranslate2", precision, precision)
        model = ctranslate2.Translator(str(place / precision / "ctranslate2"), intra_threads=1, compute_type="default")
        found.append(scores(model))
    sizes = [(place / precision / "ctranslate2" / "model.bin").stat().st_size for precision in PRECISIONS]
    assert max(sizes[1:]) < sizes[0]
    np.testing.assert_allclose(found[1], found[0], rtol=0.01)
    if SUMS_OF_8_BITS_ARE_EXACT:
        np.testing.assert_allclose(found[2], found[0], rtol=0.1)


def test_weights_beyond_half_precision_are_refused(place, tmp_path, capsys):
    shutil.copytree(place / "run", tmp_path / "run")
    run = Run.open(tmp_path / "run")
    weights = run.weights()
    weights["seq2seq/decoder/norm/gamma"][0] = 1e5
    run.save_weights(weights)
    command = ["export", "--model", f"{tmp_path}/run", "--output", f"{tmp_path}/new", "--format", "ctranslate2"]
    assert main([*command, "--precision", "float16"]) == 2
    error = capsys.readouterr().err
    assert "decoder/norm/gamma has values beyond 65,504" in error and not (tmp_path / "new").exists()


def test_the_card_names_no_command_that_refuses_such_an_export(place):
    assert "nmt translate" not in (place / "float32" / "README.md").read_text()


@pytest.mark.slow
def test_the_card_shows_how_to_translate(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    card = (place / "float32" / "README.md").read_text()
    lines = [line[4:] for line in card.splitlines() if line.startswith("    ") or not line]
    exec(compile("\n".join(lines).replace("A sentence.", LINES[1]), "card", "exec"), {})  # as a reader pastes it
    translated = capsys.readouterr().out.strip()
    assert translated and {*translated.split()} <= set(LEARNT)


def test_nmt_verifies_such_an_export_and_does_not_translate_with_it(place, capsys):
    directory = place / "float32"
    assert main(["verify", str(directory)]) == 0
    assert "all as nmt wrote them" in capsys.readouterr().out
    with pytest.raises(NmtError, match="float32: is an export for ctranslate2; nmt translates with exports in onnx$"):
        read_export(directory)
    assert main(["info", str(directory)]) == 0
    assert "an export: ctranslate2 float32\n" in capsys.readouterr().out


def test_a_changed_file_of_such_an_export_is_found_and_accepted(place, tmp_path, capsys):
    copy = shutil.copytree(place / "float32", tmp_path / "copy")
    sums = json.loads((copy / "manifest.json").read_text())["files"].keys() - {"README.md"}
    with open(copy / "ctranslate2" / "config.json", "ab") as file:
        file.write(b" ")
    assert main(["verify", str(copy)]) == 2
    assert "ctranslate2/config.json: damaged or changed" in capsys.readouterr().err
    assert main(["verify", "--accept", str(copy)]) == 0
    assert json.loads((copy / "manifest.json").read_text())["files"].keys() == sums
