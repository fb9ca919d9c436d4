"""Minimum Bayes risk: numbers by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from nmt.translation import minimum_bayes_risk
from nmt.translation.minimum_bayes_risk import expected_utilities

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
