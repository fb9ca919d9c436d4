"""BLEU and chrF of translations."""

from __future__ import annotations

import sys

import pytest

from nmt.evaluation.bleu_and_chrf import bleu, chrf
from nmt.evaluation.errors import EvaluationError

REFERENCE = "the cat sat on the old red mat"


def test_a_reference_scores_100() -> None:
    for score in (bleu([REFERENCE], [REFERENCE]), chrf([REFERENCE], [REFERENCE])):
        assert score.value == pytest.approx(100)


def test_bleu_equals_its_formula() -> None:
    # 7 of 8 words match, 6 of 7 pairs, 5 of 6 triples, 4 of 5 quadruples. Equal lengths: no brevity penalty.
    score = bleu(["the cat sat on the old red rug"], [REFERENCE])
    assert score.value == pytest.approx(100 * (7 / 8 * 6 / 7 * 5 / 6 * 4 / 5) ** 0.25)
    assert score.name == "BLEU"


def test_bleu_pools_counts_over_the_corpus() -> None:
    # 8 of 8 + 1 words match, and all of 7 pairs, 6 triples and 5 quadruples.
    score = bleu([REFERENCE, "no"], [REFERENCE, "yes"])
    assert score.value == pytest.approx(100 * (8 / 9) ** 0.25)


def test_bleu_of_references_below_four_words_counts_the_orders_that_there_are() -> None:
    right = bleu(["the cat", "yes"], ["the cat", "yes"])
    assert right.value == pytest.approx(100) and "eff:yes" in right.signature
    # 2 of 3 words match, and the only pair.
    assert bleu(["the cat", "no"], ["the cat", "yes"]).value == pytest.approx(100 * (2 / 3 * 1 / 1) ** 0.5)
    assert bleu(["yes yes yes yes"], ["yes"]).value < 50
    assert "eff:no" in bleu(["the cat", REFERENCE], ["the cat", REFERENCE]).signature


def test_chrf_equals_its_formula() -> None:
    # 1 of 2 characters matches, and 0 of 1 pairs; there are no longer n-grams.
    # Precision and recall are (1/2 + 0) / 2, so F is equal for every beta.
    assert chrf(["ab"], ["ac"]).value == pytest.approx(25)
    assert chrf(["ab"], ["ac"]).name == "chrF2"


def test_the_tokenizer_decides_the_words() -> None:
    hypothesis, reference = "so it sat on the mat , alone .", "so it sat on the mat, alone."
    assert bleu([hypothesis], [reference], tokenize="13a").value == pytest.approx(100)
    assert bleu([hypothesis], [reference], tokenize="none").value < 60


def test_the_signature_has_the_settings_and_is_part_of_the_text() -> None:
    score = bleu([REFERENCE], [REFERENCE], tokenize="char")
    assert "tok:char" in score.signature and "nrefs:1" in score.signature and "version:" in score.signature
    assert str(score) == f"BLEU = 100.00 ({score.signature})"
    assert "nc:6" in chrf([REFERENCE], [REFERENCE]).signature


def test_an_unknown_tokenizer_is_refused_with_the_known_ones() -> None:
    with pytest.raises(EvaluationError, match=r"^tokenize is 'moses': expected one of none, zh, 13a, intl, char, .*"):
        bleu([REFERENCE], [REFERENCE], tokenize="moses")


def test_a_tokenizer_that_lacks_its_package_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "MeCab", None)
    monkeypatch.delitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab", raising=False)
    with pytest.raises(EvaluationError, match="^tokenize is 'ja-mecab': .*install.*") as error:
        bleu([REFERENCE], [REFERENCE], tokenize="ja-mecab")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("metric", [bleu, chrf])
def test_different_counts_are_refused_with_both_counts(metric: object) -> None:
    assert callable(metric)
    with pytest.raises(EvaluationError, match="^2 translations but 1 references"):
        metric(["a", "b"], ["a"])
    with pytest.raises(EvaluationError, match="^no sentences to score"):
        metric([], [])
