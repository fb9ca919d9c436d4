"""The translator in JavaScript answers as `nmt` answers over the same export, for every kind of network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import REPOSITORY
from node_process import NODE, modules, run_node
from web_folders import require_runtime

from nmt import Translator
from nmt.config import AttentionConfig, TransformerConfig
from nmt.explaining.erasure import erase
from nmt.exporting.export import export_run
from nmt.run.directory import Run
from nmt.translation.request import TranslationRequest
from nmt.web.runtime import usual_place

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NODE is None, reason="needs Node.js: apt-get install nodejs"),
]

NETWORKS: dict[str, dict[str, Any]] = {
    "recurrent": {},
    "coverage": {"cell": "lstm", "attention": AttentionConfig(units=5, coverage=True)},
    "luong": {"decoder": "luong", "attention": AttentionConfig(units=5, score="general", window="local_p")},
    "plain": {"words_in_readout": False, "encoder_layers": 2},
    "transformer": {
        "architecture": "transformer",
        "embedding": 8,
        "transformer": TransformerConfig(encoder_layers=1, decoder_layers=2, heads=2, feed_forward=12),
    },
}
SOURCES = ["ba be", "ki", "", "bo bu ka ke ki ba", "be unknown be", "ba " * 30, "ka ka"]
TARGETS = ["ka", "be bi bo", "ba", "ki", "", "bu bu", "zz ka"]

DEMO = REPOSITORY / "data" / "demo"

IMPORTS = """
import { readFileSync as read } from "node:fs";
import { Network } from "./engine/network.js";
import { Translator } from "./engine/translator.js";
"""
SCRIPT = """
const { InferenceSession, Tensor, env } = await import(`${input.folder}/runtime/onnxruntime.js`);
env.wasm.numThreads = 1;
env.wasm.wasmBinary = read(`${input.folder}/runtime/onnxruntime.wasm`);
const settings = JSON.parse(read(`${input.folder}/page.json`));
Object.assign(settings.search, input.search);
const graphs = { encoder: read(`${input.folder}/encoder.onnx`), step: read(`${input.folder}/step.onnx`) };
const network = await Network.load({ InferenceSession, Tensor }, graphs, settings.tensors);
const vocabularies = settings.vocabularies.map((name) => new Uint8Array(read(`${input.folder}/${name}`)));
const translator = new Translator(settings, network, vocabularies);
const found = { greedy: [], beam: [], lists: [], prefixed: [], aligned: [], explained: [] };
for (const [place, text] of input.sources.entries()) {
    found.greedy.push((await translator.translate(text, { beam_size: 1 })).candidates);
    found.beam.push((await translator.translate(text, { beam_size: 5 })).candidates);
    found.lists.push((await translator.translate(text, { n_best: 4 })).candidates);
    found.prefixed.push((await translator.translate(text, { beam_size: 5, prefix: input.prefix })).candidates);
    found.aligned.push([await translator.align(text, input.targets[place])]);
    found.explained.push(await translator.explain(text, input.targets[place]));
}
return found;
"""


@pytest.fixture(scope="module", autouse=True)
def _runtime() -> None:
    require_runtime()


def answers(translator: Translator, sources: list[str], targets: list[str], prefix: str) -> dict[str, list[Any]]:
    """What `SCRIPT` returns, by `nmt`."""
    own = translator.config.search
    greedy, beam = replace(own, beam_size=1), replace(own, beam_size=5)
    requests = {
        "greedy": [TranslationRequest(text, greedy) for text in sources],
        "beam": [TranslationRequest(text, beam) for text in sources],
        "lists": [TranslationRequest(text, own, nbest=4) for text in sources],
        "prefixed": [TranslationRequest(text, beam, prefix) for text in sources],
    }
    found = {name: list(translator.answer(of_name)) for name, of_name in requests.items()}
    pairs = list(translator.align(sources, targets))
    explained = [erasure.falls for _, erasure in erase(translator, pairs)]
    return {**found, "aligned": [[pair] for pair in pairs], "explained": explained}


def assert_same(found: dict[str, list[Any]], expected: dict[str, list[Any]], sources: list[str]) -> None:
    for ours, theirs in zip(found.pop("explained"), expected.pop("explained"), strict=True):
        np.testing.assert_allclose(np.reshape(ours, theirs.shape), theirs, atol=3e-4)
    for name, lists in expected.items():
        for text, ours, theirs in zip(sources, found[name], lists, strict=True):
            assert [one["text"] for one in ours] == [one.text for one in theirs], (name, text)
            for one, other in zip(ours, theirs, strict=True):
                alignment = other.alignment.to_json()
                for kind in ("weights", "end_of_sentence"):
                    np.testing.assert_allclose(one["alignment"].pop(kind), alignment.pop(kind), atol=2e-4)
                assert one["alignment"] == alignment, (name, text)
                assert one["truncated"] == other.truncated, (name, text)
                np.testing.assert_allclose(
                    one["word_log_probabilities"], other.word_log_probabilities, rtol=1e-4, atol=2e-4
                )
                for field in ("log_probability", "score"):
                    np.testing.assert_allclose(one[field], getattr(other, field), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("network", NETWORKS)
def test_it_answers_as_nmt_does(make_run: Callable[..., Path], tmp_path: Path, network: str) -> None:
    run = Run.open(make_run(tmp_path / "run", **NETWORKS[network]))
    export_run(run, tmp_path / "folder", "web", runtime=usual_place())
    translator = Translator.load(tmp_path / "folder")
    search = {
        "max_source": 20,
        "length_penalty": 0.7,
        "coverage_penalty": 0.1,
        "min_length_ratio": 0.5,
        "copy_unknown": True,
    }
    translator.config = replace(translator.config, search=replace(translator.config.search, **search))
    values = {"folder": str(tmp_path / "folder"), "sources": SOURCES, "targets": TARGETS, "search": search}
    found = run_node(modules(tmp_path), IMPORTS, SCRIPT, {**values, "prefix": "bi ka"})
    assert_same(found, answers(translator, SOURCES, TARGETS, "bi ka"), SOURCES)


ODD = [
    "My sister sleeps.",
    "the OLD garden is empty .",
    "The old garden is empty. My sister sleeps in the garden! Is the baker here?",
    "caf\u00e9 \u200b 12\u00bd \U0001f600 zzz",
    "...",
]


def test_demo_sentences_are_translated_and_aligned_as_nmt_does(demo_folder: Path, tmp_path: Path) -> None:
    lines = {side: (DEMO / f"test.{side}").read_text(encoding="utf-8").splitlines()[:30] for side in ("en", "fr")}
    sources, targets = [*lines["en"], *ODD], [*lines["fr"], *lines["fr"][: len(ODD)]]
    values = {"folder": str(demo_folder), "sources": sources, "targets": targets, "search": {}, "prefix": "Le"}
    found = run_node(modules(tmp_path), IMPORTS, SCRIPT, values)
    assert_same(found, answers(Translator.load(demo_folder), sources, targets, "Le"), sources)
