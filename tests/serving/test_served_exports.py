"""Exports are served where neither Keras nor TensorFlow is installed."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest
from commands import REPOSITORY
from server_process import PATIENCE, running

from nmt import Translator

pytestmark = pytest.mark.slow

SAVED = REPOSITORY / "tests" / "exporting" / "version_1"
MODELS = {"recurrent": SAVED / "recurrent-float32", "transformer": SAVED / "transformer-int8"}
TEXT = "ba be bo"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with two exports, in a process that cannot import Keras or TensorFlow."""
    directory: Path = tmp_path_factory.mktemp("served")
    for package in ("keras", "tensorflow"):
        (directory / f"{package}.py").write_text('raise ImportError("not installed")')
    with running([], directory, program="nmt", models=MODELS) as server:
        yield server


def best(answer):
    return answer["translations"][0]["candidates"][0]


def test_an_export_is_translated_aligned_and_explained_as_in_the_library(server):
    expected = Translator.load(MODELS["recurrent"]).translate_one(TEXT)
    found = best(server.post("/v1/translate", {"text": TEXT, "alignment": True}))
    assert found["text"] == expected.text and found["alignment"] == expected.alignment.to_json()
    assert found["log_probability"] == pytest.approx(expected.log_probability, abs=1e-4)
    own = {"text": TEXT, "target": expected.text}
    assert best(server.post("/v1/align", own))["alignment"]["links"] == found["alignment"]["links"]
    assert server.post("/v1/score", own)["scores"][0]["words"] == expected.text.split()
    for method in ("word", "attention"):
        falls = server.post("/v1/explain", {**own, "method": method})["falls"]
        assert len(falls) == len(expected.text.split()) and {len(row) for row in falls} == {len(TEXT.split())}


def test_an_export_goes_on_after_a_prefix_and_answers_several_texts_and_alternatives(server):
    assert best(server.post("/v1/translate", {"text": TEXT, "prefix": "bi bu"}))["text"].startswith("bi bu")
    found = server.post("/v1/translate", {"text": [TEXT, "be"], "n_best": 3, "model": "transformer"})
    assert found["model"] == "transformer" and [len(one["candidates"]) for one in found["translations"]] == [3, 3]


def test_an_export_has_the_page_and_the_routes_of_libretranslate(server):
    with urllib.request.urlopen(server.address, timeout=PATIENCE) as page:
        assert b"<html" in page.read()
    with urllib.request.urlopen(f"{server.address}/v1/models", timeout=PATIENCE) as found:
        assert b'"architecture":"transformer"' in found.read()
    found = server.post("/translate", {"q": TEXT, "source": "und", "target": "und"})
    assert found["translatedText"] == best(server.post("/v1/translate", {"text": TEXT}))["text"]
