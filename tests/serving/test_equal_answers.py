"""The answers of the server are those of the library, whatever else is in the batch."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import copy_task
import numpy as np
import pytest
from fastapi.testclient import TestClient

import nmt
from nmt.serving.app import create_app
from nmt.serving.models import Models, ServedModel


@pytest.mark.slow
def test_answers_equal_those_of_the_library_whatever_is_in_the_batch(copier_run):
    """Texts of many lengths from 16 clients at once, with other searches between them."""
    translator = nmt.Translator.load(copier_run)
    model = ServedModel("copier", copier_run, lambda _: translator)
    model.load()
    draw = random.Random(2)
    texts = [" ".join(draw.choices(list(copy_task.WORDS), k=draw.choice([1, 2, 5, 9, 20]))) for _ in range(1000)]
    with TestClient(create_app(Models([model])), base_url="http://localhost") as client:

        def ask(place):
            n_best = 1 if place % 3 else 3
            body = {"text": texts[place], "alignment": True, "n_best": n_best}
            return client.post("/v1/translate", json=body).json()["translations"][0]["candidates"]

        with ThreadPoolExecutor(16) as threads:
            answers = list(threads.map(ask, range(len(texts))))
    close = []
    for place, found in enumerate(answers):
        expected = translator.translate_nbest([texts[place]], nbest=1 if place % 3 else 3)[0]
        for one, other in zip(found, expected, strict=True):
            if one["text"] != other.text:
                assert one["log_probability"] == pytest.approx(other.log_probability, abs=1e-4)
                close.append(texts[place])
                continue
            assert one["log_probability"] == pytest.approx(other.log_probability, abs=1e-4)
            written = other.alignment.to_json()
            assert (one["alignment"]["source"], one["alignment"]["target"]) == (written["source"], written["target"])
            assert one["alignment"]["links"] == written["links"]
            np.testing.assert_allclose(one["alignment"]["weights"], written["weights"], atol=2e-4)
            np.testing.assert_allclose(one["word_log_probabilities"], other.word_log_probabilities, atol=2e-4)
    assert len(close) <= 2, close
