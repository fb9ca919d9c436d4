"""Requests: JSON there and back, impossible requests, and translators that answer them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from nmt.config import SearchConfig
from nmt.translation.glossary import Term
from nmt.translation.request import SAMPLES, Lexicon, RequestError, TranslationRequest

BEAM = SearchConfig(beam_size=4)
SAMPLE = SearchConfig(method="sample")
COPYING = SearchConfig(copy_unknown=True)


@pytest.mark.parametrize(
    "request_",
    [
        TranslationRequest("a b", BEAM),
        TranslationRequest("", SearchConfig(method="sample", suppress=("<unk>",), seed=7), nbest=3, sentence_id=12),
        TranslationRequest("a", BEAM, prefix="Das", phrases=("rotes Haus", "grün"), minimum_bayes_risk="chrf"),
        TranslationRequest("a", SearchConfig(copy_unknown=True), lexicon={"Wien": "Vienna"}),
        TranslationRequest("a", BEAM, terms=(Term("Haus", ("house", "home")),), glossary_mode="require"),
    ],
)
def test_json_there_and_back(request_: TranslationRequest) -> None:
    assert TranslationRequest.from_json(json.loads(json.dumps(request_.to_json()))) == request_


def test_fields_that_json_leaves_out_have_defaults() -> None:
    assert TranslationRequest.from_json({"text": "a"}, BEAM) == TranslationRequest("a", BEAM)
    partial = TranslationRequest.from_json({"text": "a", "search": {"prune": 2}}, BEAM)
    assert partial.search == SearchConfig(beam_size=4, prune=2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("a", "request: expected a JSON object with text"),
        ({}, "request: text is missing"),
        ({"text": 3}, "request: text is 3: expected a text"),
        ({"text": "a", "nbset": 3}, "request: unknown field nbset: expected aligned, glossary_mode, lexicon, "),
        ({"text": "a", "nbest": "3"}, "request: nbest is '3': expected a whole number"),
        ({"text": "a", "nbest": True}, "request: nbest is True: expected a whole number"),
        ({"text": "a", "phrases": "b"}, "request: phrases is 'b': expected a list of texts"),
        ({"text": "a", "phrases": [3]}, "request: expected texts in phrases and lexicon"),
        ({"text": "a", "lexicon": {"b": 3}}, "request: expected texts in phrases and lexicon"),
        ({"text": "a", "minimum_bayes_risk": "ter"}, "request: minimum_bayes_risk is 'ter': expected bleu or chrf"),
        (
            {"text": "a", "terms": [{"source": "b"}]},
            "request: terms has {'source': 'b'}: expected an object with source",
        ),
        ({"text": "a", "terms": [{"source": "b", "forms": [" "]}]}, "request: terms has .*: expected an object"),
        ({"text": "a", "glossary_mode": "force"}, "glossary_mode is 'force': expected prefer or require"),
        ({"text": "a", "search": {"beam": 3}}, "request: search: unknown field beam"),
        ({"text": "a", "search": {"beam_size": 0}}, "request: search: beam_size is 0: expected more than 0"),
        ({"text": "a", "search": []}, "request: search is .*: expected an object of search settings"),
        ({"text": "a", "aligned": "no"}, "aligned is 'no': expected true or false"),
        ({"text": "a", "sentence_id": -1}, "sentence_id is -1: expected 0 or more"),
        ({"text": "a", "sentence_id": 2**63}, r"sentence_id is 9223372036854775808: .* less than 2\*\*63"),
    ],
)
def test_json_of_another_form_is_refused_in_one_line(values: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message) as raised:
        TranslationRequest.from_json(values)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("search", "fields", "message"),
    [
        (BEAM, {"nbest": 5}, r"nbest is 5, more than the 4 hypotheses of the beam: raise beam_size .* to 5"),
        (BEAM, {"nbest": 0}, "nbest is 0: expected 1 or more"),
        (BEAM, {"nbest": 1, "minimum_bayes_risk": "bleu"}, "chooses among several translations"),
        (SearchConfig(beam_size=1), {"minimum_bayes_risk": "bleu"}, "chooses among several translations"),
        (SAMPLE, {"terms": (Term("b", ("c",)),)}, "terms .* need beam search, and method is sample"),
        (SAMPLE, {"phrases": ("b",)}, "phrases .* need beam search, and method is sample"),
        (BEAM, {"lexicon": {"Wien": "Vienna"}}, "set copy_unknown .* too"),
        (COPYING, {"lexicon": {"NY": "New York"}}, "lexicon .* has 'New York' for 'NY': expected one word"),
        (COPYING, {"lexicon": {"NY": "New\nYork"}}, r"lexicon .* has 'New\\nYork' for 'NY': expected one word"),
        (COPYING, {"lexicon": {"a": "b", "NY": ""}}, "lexicon .* has '' for 'NY': expected one word"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(
    search: SearchConfig, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        TranslationRequest("a", search, **fields)


def test_requests_share_a_lexicon_that_was_checked() -> None:
    words = Lexicon({"Wien": "Vienna"})
    request = TranslationRequest("a", COPYING, lexicon=words)
    assert replace(request, text="b").lexicon is request.lexicon is words


def test_number_of_candidates() -> None:
    """One translation, or for minimum Bayes risk the whole beam or 16 samples, unless the request says how many."""
    assert TranslationRequest("a", BEAM).candidates == 1
    assert TranslationRequest("a", BEAM, minimum_bayes_risk="bleu").candidates == 4
    assert TranslationRequest("a", SAMPLE, minimum_bayes_risk="bleu").candidates == SAMPLES == 16
    assert TranslationRequest("a", BEAM, minimum_bayes_risk="bleu", nbest=3).candidates == 3
    assert TranslationRequest("a", SAMPLE, nbest=30).candidates == 30
