"""Version 1 of the interface."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from small_server import LIMITS, Fake

from nmt.alignment.word_alignment import WordAlignment
from nmt.config import RunConfig, SearchConfig, VocabularyConfig
from nmt.serving import messages
from nmt.serving.app import create_app
from nmt.serving.engine import Engine
from nmt.serving.limits import Limits, RefusedError
from nmt.serving.messages import TranslateRequest
from nmt.serving.models import Models, ServedModel
from nmt.serving.requests import translation_requests
from nmt.serving.scheduler import SHORT
from nmt.text.tokenizer import Tokenizer
from nmt.translation.request import TranslationRequest


def translate(client, **body) -> messages.TranslateAnswer:
    answer = client.post("/v1/translate", json=body)
    assert answer.status_code == 200, answer.text
    return messages.TranslateAnswer.model_validate(answer.json())


def test_each_text_of_a_request_has_its_translations(client):
    (one,) = translate(client, text="a b").translations
    assert one.source_words == ["a", "b"] and [c.text for c in one.candidates] == ["A B"]
    assert one.candidates[0].alignment is None
    several = translate(client, text=["a", "b c"], n_best=2, alignment=True, model="two")
    assert several.model == "two"
    assert [[c.text for c in text.candidates] for text in several.translations] == [["A", "A!"], ["B C", "B C!"]]
    assert several.translations[1].candidates[0].alignment.links == [(0, 0), (1, 1)]


@pytest.mark.parametrize("alignment", [True, False])
def test_an_aligner_works_only_for_answers_with_alignments(alignment):
    body = messages.TranslateRequest(text="a", alignment=alignment)
    translator = SimpleNamespace(config=SimpleNamespace(search=SearchConfig()))
    (request,) = translation_requests(body, ["a"], translator, LIMITS)
    assert request.aligned == alignment


def test_a_prefix_and_phrases_are_in_the_translation(client):
    assert translate(client, text="a", prefix="x", phrases=["y z"]).translations[0].candidates[0].text == "x y z A"


def test_a_given_translation_is_aligned_and_not_searched_for(client):
    (pair,) = translate(client, text="a b", target="x y", alignment=True).translations
    assert pair.candidates[0].text == "x y" and pair.candidates[0].alignment.target == ["x", "y"]
    aligned = client.post("/v1/align", json={"text": "a b", "target": "x y"}).json()
    assert messages.TranslateAnswer.model_validate(aligned).translations == [pair]


def test_texts_are_counted_as_they_came(client):
    """Drawn translations and messages depend on the number, as in nmt translate."""
    body = messages.TranslateRequest(text=["a", "b"])
    translator = SimpleNamespace(config=SimpleNamespace(search=SearchConfig()))
    assert [one.sentence_id for one in translation_requests(body, ["a", "b"], translator, LIMITS)] == [0, 1]


def test_an_explained_translation_has_as_many_words_as_a_text(client):
    most = LIMITS.erasures
    answer = client.post("/v1/explain", json={"text": "a", "target": "b " * (most + 1)})
    assert answer.status_code == 413 and answer.json()["limit"] == "erasures"


def test_erased_words_are_left_out_of_the_text(client):
    (text,) = translate(client, text="a  bb a", erase=[2, 0]).translations
    assert text.source == "bb" and text.source_words == ["a", "bb", "a"] and text.candidates[0].text == "BB"


def test_markup_is_no_word(client):
    assert translate(client, text="<b>a</b> c", markup="html").translations[0].source_words == ["a", "c"]


def test_scores_have_a_log_probability_for_each_piece_and_word(client):
    answer = messages.ScoreAnswer.model_validate(
        client.post("/v1/score", json={"text": ["a"], "target": ["x y"]}).json()
    )
    (score,) = answer.scores
    assert score.words == ["x", "y"] and len(score.pieces) == len(score.piece_log_probabilities) == 3
    assert score.word_log_probabilities == [-0.5, -0.5]


def test_an_explanation_has_the_loss_of_each_word_without_each_source_word(client):
    body = {"text": "a b", "target": "x y"}
    found = messages.ExplainAnswer.model_validate(client.post("/v1/explain", json=body).json())
    assert (found.source, found.target, found.translation.text) == (["a", "b"], ["x", "y"], "x y")
    assert found.falls == [[2.0, 0.0], [0.01, 2.0]] and found.log_probabilities == [-0.25, -0.25]
    assert client.post("/v1/explain", json={"text": "a b c d e"}).json()["limit"] == "erasures"


def test_a_stream_has_one_line_for_each_text_in_order(client):
    answer = client.post("/v1/translate", json={"text": ["a", "b", "", "c", "d"], "stream": True})
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [messages.TranslatedText.model_validate_json(line) for line in answer.text.splitlines()]
    assert [line.candidates[0].text for line in lines] == ["A", "B", "", "C", "D"]


def test_a_stream_is_longer_than_the_queue():
    models = Models([ServedModel("one", Path("one"), lambda _: Fake(), Limits(queue=2))])
    models["one"].load()
    models.start = lambda: None  # type: ignore[method-assign]  # the programs of the page would take places of the queue
    with TestClient(create_app(models, Limits(queue=2, seconds=5)), base_url="http://localhost") as client:
        answer = client.post("/v1/translate", json={"text": list("abcde"), "stream": True})
        assert [json.loads(line)["source"] for line in answer.text.splitlines()] == list("abcde")
        refused = client.post("/v1/translate", json={"text": list("abc")})
        assert (refused.status_code, refused.json()["limit"]) == (413, "queue")


@contextmanager
def limited(limits: Limits) -> Iterator[TestClient]:
    """A client of a server with other limits."""
    model = ServedModel("one", Path("one"), lambda _: Fake(), limits)
    model.load()
    with TestClient(create_app(Models([model]), limits), base_url="http://localhost") as client:
        yield client


def test_alignments_of_too_many_cells_are_refused_with_the_remedy():
    with limited(Limits(alignment_cells=7)) as client:
        for path, body in (
            ("translate", {"text": ["a b", "c d"], "alignment": True}),
            ("translate", {"text": "a b", "n_best": 2, "alignment": True}),
            ("translate", {"text": ["a b", "c d"], "target": ["x y", "z u"], "alignment": True}),
            ("align", {"text": ["a b", "c d"], "target": ["x y", "z u"]}),
        ):
            refused = client.post(f"/v1/{path}", json=body)
            assert refused.status_code == 413 and refused.json() == {
                "error": "the alignments have 8 cells, source words times target words: the limit is 7; ask without "
                "alignments, or send fewer or shorter texts",
                "limit": "alignment_cells",
                "value": 7,
            }
        assert client.post("/v1/translate", json={"text": ["a b", "c d"]}).status_code == 200
        assert client.post("/v1/translate", json={"text": ["a b", "c"], "alignment": True}).status_code == 200


def test_each_line_of_a_stream_may_have_as_many_cells_as_an_answer():
    with limited(Limits(alignment_cells=7)) as client:
        body = {"text": ["a b", "c d", "e f g", "h"], "stream": True}
        assert len(client.post("/v1/translate", json=body).text.splitlines()) == 4
        *lines, last = client.post("/v1/translate", json={**body, "alignment": True}).text.splitlines()
        assert [json.loads(line)["source"] for line in lines] == ["a b", "c d"]
        assert json.loads(last)["limit"] == "alignment_cells" and "have 9 cells" in json.loads(last)["error"]


def test_an_answer_that_takes_long_to_write_is_refused_in_time(monkeypatch):
    written, to_json = threading.Event(), WordAlignment.to_json
    monkeypatch.setattr(WordAlignment, "to_json", lambda alignment: written.wait(60) and to_json(alignment))
    with limited(Limits(seconds=0.2)) as client:
        body = {"text": "a" * 600, "alignment": True}
        begun = time.monotonic()
        refused = client.post("/v1/translate", json=body)
        assert (refused.status_code, refused.json()["limit"]) == (504, "seconds") and time.monotonic() - begun < 30
        written.set()
        assert client.post("/v1/translate", json=body).status_code == 200


def test_a_long_prefix_or_phrase_is_patient(monkeypatch):
    """Words that must be written take as long as words that are read."""
    lengths = []
    engine = Engine(Fake(), Limits(), print)
    monkeypatch.setattr(engine.scheduler, "submit", lambda jobs: lengths.extend(job.length for job in jobs) or 1 / 0)
    for parts in ({}, {"prefix": "p" * 400}, {"phrases": ("q" * 400,)}):
        with pytest.raises(ZeroDivisionError):
            asyncio.run(engine.translate([TranslationRequest("a", SearchConfig(), **parts)]))
    assert lengths[0] <= SHORT < min(lengths[1:])


@pytest.mark.parametrize(
    ("body", "status", "limit"),
    [
        ({"text": "a", "phrases": ["b" * 41]}, 413, "characters"),
        ({"text": "a", "terms": [{"source": "a", "forms": ["b" * 21, "c" * 21]}]}, 413, "characters"),
        ({"text": "a", "lexicon": {"a": "b" * 41}, "copy_unknown": True}, 413, "characters"),
        ({"text": "a", "target": ["b"] * 4}, 422, None),
        ({"text": "a", "prefix": ["b"] * 4}, 422, None),
        ({"text": ["a"] * 4}, 413, "texts"),
        ({"text": ["a"] * 7, "stream": True}, 413, "lines"),
        ({"text": "a" * 41}, 413, "characters"),
        ({"text": "a", "target": "b" * 41}, 413, "characters"),
        ({"text": "a", "beam_size": 5}, 422, "beam_size"),
        ({"text": "a", "n_best": 5}, 422, "beam_size"),
        ({"text": "a", "phrases": ["a", "b", "c"]}, 422, "phrases"),
        ({"text": "a", "beam_size": 2, "n_best": 3}, 422, None),
        ({"text": ["a", "b"], "target": ["a"]}, 422, None),
        ({"text": "a", "target": "b", "prefix": "c"}, 422, None),
        ({"text": "a", "target": "b", "copy_unknown": True}, 422, None),
        ({"text": "a", "target": "b", "lexicon": {"a": "b"}, "copy_unknown": True}, 422, None),
        ({"text": "a", "target": "b", "terms_required": True}, 422, None),
        ({"text": "a", "erase": [1]}, 422, None),
        ({"text": "<b>a</b>", "erase": [0], "markup": "html"}, 422, None),
        ({"text": "a", "lexicon": {"a": "b"}}, 422, None),
        ({"text": "a", "model": "../one"}, 404, None),
        ({"text": 3}, 422, None),
        ({"text": "a", "beam_size": True}, 422, None),
        ({"text": "a", "checkpoint": "x"}, 422, None),
        ({}, 422, None),
    ],
)
def test_a_refused_request_has_one_line_that_names_the_limit(client, body, status, limit):
    answer = client.post("/v1/translate", json=body)
    error = messages.ErrorAnswer.model_validate(answer.json())
    assert (answer.status_code, error.limit) == (status, limit)
    assert error.error and "\n" not in error.error
    if limit:
        assert error.value == getattr(LIMITS, limit) and f"the limit is {getattr(LIMITS, limit):,}" in error.error


def test_models_are_described_without_their_directories(client):
    answer = messages.ModelsAnswer.model_validate(client.get("/v1/models").json())
    assert [model.name for model in answer.models] == ["one", "two"]
    assert (answer.models[0].target.tag, answer.models[0].target.direction) == ("he", "rtl")
    assert answer.limits["characters"] == LIMITS.characters
    assert "2" not in json.dumps([model.model_dump() for model in answer.models]).replace('"max_source": 400', "")


def test_a_required_term_that_the_vocabulary_cannot_write_is_refused():
    vocabulary = Tokenizer.train(["le jardin est vide ."] * 3, VocabularyConfig(type="char", size=20))
    model = SimpleNamespace(run=SimpleNamespace(target=vocabulary), config=RunConfig())
    fields = {"text": "the garden", "terms": [{"source": "garden", "forms": ["zé"]}]}

    def requests(text: str, **more: Any) -> Any:
        return translation_requests(TranslateRequest(**fields | more), [text], model, Limits())

    with pytest.raises(RefusedError, match="lacks characters of the translations of 'garden': leave the term out"):
        requests("the garden", terms_required=True)
    assert requests("the garden") and requests("the house", terms_required=True)
