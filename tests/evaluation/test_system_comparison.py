"""Several systems on one test set: scores, intervals, tests, single sentences."""

from __future__ import annotations

import numpy as np
import pytest

from nmt.evaluation.bleu_and_chrf import bleu, chrf
from nmt.evaluation.errors import EvaluationError
from nmt.evaluation.system_comparison import (
    SentenceScorer,
    compare_systems,
    most_different,
    scores_to_compute,
    wins,
)

WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "an",
    "old",
    "red",
    "mat",
    "and",
    "looked",
    "at",
    "the",
    "small",
    "bird",
    "over",
    "there",
]


def made_sentences(sentences: int = 60) -> list[str]:
    generator = np.random.default_rng(7)
    return [" ".join(generator.permutation(WORDS)[: generator.integers(6, 12)]) for _ in range(sentences)]


def damaged(texts: list[str], lines: range) -> list[str]:
    """The same texts with the first two words of some lines exchanged for others."""
    return [" ".join(["no", "dog", *text.split()[2:]]) if n in lines else text for n, text in enumerate(texts)]


REFERENCES = made_sentences()


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_a_worse_system_is_told_from_an_equally_good_one(test) -> None:
    outputs = {
        "few": damaged(REFERENCES, range(0, 60, 6)),
        "other few": damaged(REFERENCES, range(1, 60, 6)),
        "many": damaged(REFERENCES, range(60)),
    }
    first, equal, worse = compare_systems(outputs, REFERENCES, test=test, samples=300).systems
    assert first.bleu.p_value is None and first.chrf.p_value is None
    assert worse.bleu.p_value < 0.01 and worse.chrf.p_value < 0.01
    assert equal.bleu.p_value > 0.1 and equal.chrf.p_value > 0.1
    for one, texts in zip((first, equal, worse), outputs.values(), strict=True):
        assert one.bleu.value == pytest.approx(bleu(texts, REFERENCES).value)
        assert one.chrf.value == pytest.approx(chrf(texts, REFERENCES).value)


def test_equal_scores_are_chance() -> None:
    same = damaged(REFERENCES, range(9))
    compared = compare_systems({"one": same, "two": list(same)}, REFERENCES, samples=50)
    assert compared.systems[1].bleu.p_value == compared.systems[1].chrf.p_value == 1


def test_the_interval_is_the_bootstrap_s() -> None:
    # chrF of one-letter sentences is their share of right ones, whose binomial deviation is known.
    references = ["a"] * 100
    right = ["a"] * 80 + ["b"] * 20
    found = compare_systems({"first": right, "second": right}, references).systems[1].chrf
    assert found.value == pytest.approx(80)
    assert found.margin == pytest.approx(1.96 * 100 * (0.8 * 0.2 / 100) ** 0.5, rel=0.15)
    assert found.mean == pytest.approx(80, abs=0.5)


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_every_computed_score_is_reported(test) -> None:
    outputs, reported = dict.fromkeys("abc", REFERENCES[:5]), []
    compare_systems(outputs, REFERENCES[:5], test=test, samples=20, report=reported.append)
    assert sum(reported) == scores_to_compute(3, test, 20)


def test_the_signature_names_test_samples_and_seed() -> None:
    compared = compare_systems({"a": REFERENCES, "b": REFERENCES}, REFERENCES, "char", samples=10)
    assert "bs:10|seed:12345" in compared.signatures["BLEU"] and "tok:char" in compared.signatures["BLEU"]
    assert "nc:6" in compared.signatures["chrF2"]


def test_lengths_count_words_by_the_tokenizer() -> None:
    # 13a parts the full stop: 3 words in the references, 2 and 6 in the outputs.
    one, two = compare_systems({"a": ["a b"], "b": ["a b c d e."]}, ["a b."], samples=2).systems
    assert (one.words, two.words) == (2, 6)
    assert (one.length_ratio, two.length_ratio) == pytest.approx((2 / 3, 2))


@pytest.mark.parametrize(
    ("outputs", "references", "samples", "message"),
    [
        ({"a": ["x"]}, ["x"], 9, "a comparison needs two systems"),
        ({"a": ["x"], "b": ["x", "y"]}, ["x"], 9, "2 translations of b but 1 references"),
        ({"a": [], "b": []}, [], 9, "no sentences to compare"),
        ({"a": ["x"] * 1000, "b": ["x"] * 1000}, ["x"] * 1000, 10**6, "need more than 4 GiB: take 53687 samples"),
    ],
)
def test_what_cannot_be_compared_is_refused(outputs, references, samples, message) -> None:
    with pytest.raises(EvaluationError, match=message):
        compare_systems(outputs, references, samples=samples)


def test_a_seed_that_is_no_number_is_refused(monkeypatch) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "five")
    with pytest.raises(EvaluationError, match="SACREBLEU_SEED is 'five': expected a whole number"):
        compare_systems({"a": ["x"], "b": ["x"]}, ["x"])


def test_a_sentence_has_the_scores_of_each_system() -> None:
    # chrF of "ab" for "ac": precision and recall (1/2 + 0) / 2, as in test_bleu_and_chrf.
    scores = SentenceScorer()(4, "source", "ac", ["ac", "ab"])
    assert scores.chrf == pytest.approx([100, 25]) and scores.bleu == pytest.approx([100, 0])
    assert scores.difference == pytest.approx(-75) and scores.lengths == [1, 1] and scores.line == 4
    assert SentenceScorer()(1, "", "ac", ["ab", "ac", "ab"]).difference == pytest.approx(75)
    assert SentenceScorer()(1, "", "", ["", "ab"]).chrf == [100, 0]  # nothing is the translation of nothing


def test_the_largest_differences_come_first_and_equal_ones_are_left_out() -> None:
    score = SentenceScorer()
    texts = [["ac", "ac"], ["ab", "ac"], ["ac", "xy"], ["ab", "ab"]]
    sentences = [score(line, "", "ac", both) for line, both in enumerate(texts, 1)]
    assert [one.line for one in most_different(sentences, 5)] == [3, 2]
    assert [one.line for one in most_different(sentences, 1)] == [3]
    assert wins(sentences) == [1, 1]


def test_sentences_that_differ_in_spaces_alone_come_last() -> None:
    score = SentenceScorer()
    texts = [["l' eau est ici", "l'eau est ici"], ["l'eau est ici"] * 2, ["xy", "l'eau est ici"]]
    sentences = [score(line, "", "l'eau est ici", both) for line, both in enumerate(texts, 1)]
    assert [one.line for one in most_different(sentences, 5)] == [3, 1]


def test_short_sentences_are_measured_by_the_words_that_they_have() -> None:
    references, others = ["Il dort .", "Elle mange .", "Oui ."], ["Il mange .", "Elle mange .", "Non ."]
    same, other = compare_systems({"a": references, "b": others}, references).systems
    assert (same.bleu.value, other.bleu.value) == pytest.approx((100, bleu(others, references).value))
    assert other.bleu.p_value is not None and other.bleu.p_value < 1
