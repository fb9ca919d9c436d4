"""A request that cannot be read gets one line on the field and on what was expected there."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"text":', "the body is not JSON: Expecting value at character 9"),
        ("[]", "the body: expected an object"),
        ("{}", "text: is missing"),
        ('{"text": 5, "foo": 1}', "text: expected text or a list"),
        ('{"text": []}', "text: expected text or a list that is not empty"),
        ('{"text": ["a", 5]}', "text.1: expected text"),
        ('{"text": "\\ud800"}', "text: half of a surrogate pair is no character"),
        ('{"text": "a", "foo": 1}', "foo: there is no such field"),
        ('{"text": "a", "nbest": 2}', "nbest: there is no such field, did you mean n_best?"),
        ('{"text": "a", "beam": 2}', "beam: there is no such field, did you mean beam_size?"),
        ('{"text": "a", "list[str]": 1}', "list[str]: there is no such field"),
        ('{"text": "a", "terms": [{"source": "a", "forms": ["b"], "str": 1}]}', "terms.0.str: there is no such field"),
        ('{"text": "a", "model": 5}', "model: expected text"),
        ('{"text": "a", "n_best": 0}', "n_best: expected 1 or more"),
        ('{"text": "a", "n_best": 1.5}', "n_best: expected a whole number"),
        ('{"text": "a", "alignment": "yes"}', "alignment: expected true or false"),
        ('{"text": "a", "terms": [{"source": "a"}]}', "terms.0.forms: is missing"),
        ('{"text": "a", "terms": [{"source": "", "forms": ["x"]}]}', "terms.0.source: expected text that is not empty"),
        (
            '{"text": "a", "terms": [{"source": "a", "forms": [""]}]}',
            "terms.0.forms.0: expected text that is not empty",
        ),
        (
            '{"text": "a", "terms": [{"source": "a", "forms": []}]}',
            "terms.0.forms: expected a list that is not empty",
        ),
        ('{"text": "a", "terms": [5]}', "terms.0: expected an object"),
        ('{"text": "a", "markup": "rtf"}', "markup: expected 'auto', 'html' or 'xliff'"),
    ],
)
def test_the_line_names_the_field_and_what_was_expected(client: TestClient, body: str, said: str) -> None:
    answer = client.post("/v1/translate", content=body, headers=JSON)
    assert (answer.status_code, answer.json()) == (422, {"error": said})


def test_a_name_from_the_request_is_shortened(client: TestClient) -> None:
    answer = client.post("/v1/translate", json={"text": "a", "x" * 5000: 1})
    assert answer.json()["error"] == f"{'x' * 100}: there is no such field"


def test_the_other_interface_says_the_same(client: TestClient) -> None:
    asked = {"q": "a", "source": "he", "target": "en", "alternatives": "x"}
    answer = client.post("/translate", json=asked)
    assert (answer.status_code, answer.json()) == (
        400,
        {"error": "Invalid request: alternatives: expected a whole number"},
    )
