"""Minimum Bayes risk: numbers by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from nmt.alignment.word_alignment import WordAlignment
from nmt.config import SearchConfig
from nmt.translation import minimum_bayes_risk
from nmt.translation.glossary import Term
from nmt.translation.minimum_bayes_risk import expected_utilities
from nmt.translation.request import TranslationRequest
from nmt.translation.result import Translation
from nmt.translation.translator import chosen

WORDS = st.lists(st.sampled_from(["a b", "a c", "d", "a b c", "x y z"]), min_size=1, max_size=6)


def test_a_candidate_is_compared_with_all_candidates_by_their_weights() -> None:
    """chrF of a sentence with itself is 100, and 0 with a sentence that shares no letters."""
    assert expected_utilities(["aaa", "aaa", "zzz"], "chrf") == pytest.approx([200 / 3, 200 / 3, 100 / 3])
    chances = [math.log(0.2), math.log(0.6)]
    assert expected_utilities(["aaa", "zzz"], "chrf", chances) == pytest.approx([25, 75])


def test_sentence_bleu_uses_the_orders_that_a_sentence_has() -> None:
    assert expected_utilities(["a b", "a b"], "bleu") == pytest.approx([100, 100])


def test_sentence_bleu_counts_by_the_tokenizer() -> None:
    assert expected_utilities(["猫が好き", "猫は好き"], "bleu") == pytest.approx([50, 50])
    of_characters = expected_utilities(["猫が好き", "猫は好き"], "bleu", tokenize="char")
    assert min(of_characters) > 60


def test_a_sentence_is_scored_by_the_chrf_of_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimum_bayes_risk, "sentence_chrf", lambda: lambda hypothesis, reference: 7.0)
    assert minimum_bayes_risk.sentence_utility.__wrapped__("chrf")("a", "b") == 7.0


@given(candidates=WORDS)
def test_expected_utilities_equal_a_plain_double_sum(candidates: list[str]) -> None:
    metric = CHRF()
    expected = [
        sum(metric.sentence_score(one, [other]).score for other in candidates) / len(candidates) for one in candidates
    ]
    assert expected_utilities(candidates, "chrf") == pytest.approx(expected)


def candidates(*texts: str) -> list[Translation]:
    alignment = WordAlignment((), (), np.zeros((0, 0), np.float32), np.zeros(0, np.float32), frozenset())
    return [Translation("winter", text, -float(place), 0.0, alignment) for place, text in enumerate(texts)]


def test_a_list_has_each_text_once_and_samples_may_repeat():
    request = TranslationRequest("winter", SearchConfig(), nbest=3)
    found = chosen(request, candidates("a", "b", "a"))
    assert [(one.text, one.log_probability) for one in found] == [("a", 0), ("b", -1)]
    sampled = TranslationRequest("winter", SearchConfig(method="sample"), nbest=3)
    assert [one.text for one in chosen(sampled, candidates("a", "b", "a"))] == ["a", "b", "a"]


def test_the_candidates_with_the_most_terms_compete():
    """Alone, the least risk is that of the text that two candidates share."""
    made = candidates("en hiver ,", "en hiver ,", "en \u00e9t\u00e9 ,")
    request = TranslationRequest("winter", SearchConfig(), minimum_bayes_risk="chrf")
    assert chosen(request, made)[0].text == "en hiver ,"
    terms = (Term("winter", ("\u00e9t\u00e9",)),)
    assert chosen(replace(request, terms=terms), made)[0].text == "en \u00e9t\u00e9 ,"
