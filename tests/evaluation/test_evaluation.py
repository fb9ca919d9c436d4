from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.links import Gold, Links
from nmt.evaluation.alignment_error_rate import alignment_score
from nmt.evaluation.bleu_and_chrf import bleu, chrf
from nmt.evaluation.errors import EvaluationError

REFERENCE = "the cat sat on the old red mat"


def test_the_reference_itself_scores_100() -> None:
    for score in (bleu([REFERENCE], [REFERENCE]), chrf([REFERENCE], [REFERENCE])):
        assert score.value == pytest.approx(100)


def test_bleu_by_hand() -> None:
    # Of 8 words 7 are right; of 7 pairs 6; of 6 triples 5; of 5 quadruples 4; equal lengths, so no brevity penalty.
    score = bleu(["the cat sat on the old red rug"], [REFERENCE])
    assert score.value == pytest.approx(100 * (7 / 8 * 6 / 7 * 5 / 6 * 4 / 5) ** 0.25)
    assert score.name == "BLEU"


def test_bleu_is_of_the_corpus_not_the_mean_of_its_sentences() -> None:
    # 8 + 1 words, 8 right; 7 pairs, 6 triples and 5 quadruples, all right.
    score = bleu([REFERENCE, "no"], [REFERENCE, "yes"])
    assert score.value == pytest.approx(100 * (8 / 9) ** 0.25)


def test_chrf_by_hand() -> None:
    # Of 2 characters 1 is right; no right pair of the 1; longer ones do not exist.
    # Precision and recall are (1/2 + 0) / 2, so F is that too, whatever beta.
    assert chrf(["ab"], ["ac"]).value == pytest.approx(25)
    assert chrf(["ab"], ["ac"]).name == "chrF2"


def test_tokenize_decides_what_a_word_is() -> None:
    hypothesis, reference = "so it sat on the mat , alone .", "so it sat on the mat, alone."
    assert bleu([hypothesis], [reference], tokenize="13a").value == pytest.approx(100)
    assert bleu([hypothesis], [reference], tokenize="none").value < 60


def test_the_signature_says_how_and_is_part_of_the_text() -> None:
    score = bleu([REFERENCE], [REFERENCE], tokenize="char")
    assert "tok:char" in score.signature and "nrefs:1" in score.signature and "version:" in score.signature
    assert str(score) == f"BLEU = 100.00 ({score.signature})"
    assert "nc:6" in chrf([REFERENCE], [REFERENCE]).signature


def test_an_unknown_tokenizer_is_refused_with_those_that_exist() -> None:
    with pytest.raises(EvaluationError, match=r"^tokenize is 'moses': expected one of none, zh, 13a, intl, char, .*"):
        bleu([REFERENCE], [REFERENCE], tokenize="moses")


def test_a_tokenizer_that_lacks_its_package_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "MeCab", None)
    monkeypatch.delitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab", raising=False)
    with pytest.raises(EvaluationError, match="^tokenize is 'ja-mecab': .*install.*") as error:
        bleu([REFERENCE], [REFERENCE], tokenize="ja-mecab")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("metric", [bleu, chrf])
def test_counts_that_differ_are_refused_with_both(metric: object) -> None:
    assert callable(metric)
    with pytest.raises(EvaluationError, match="^2 translations but 1 references"):
        metric(["a", "b"], ["a"])
    with pytest.raises(EvaluationError, match="^no sentences to score"):
        metric([], [])


def gold(sure: set[tuple[int, int]], possible: set[tuple[int, int]]) -> Gold:
    return Gold(frozenset(sure), frozenset(sure | possible))


def test_alignment_score_by_hand() -> None:
    # |A| = 4, |S| = 3, |A & S| = 2, |A & P| = 3
    score = alignment_score(
        [frozenset({(0, 0), (1, 1), (2, 3), (5, 5)})], [gold({(0, 0), (1, 1), (2, 2)}, {(2, 3), (3, 3)})]
    )
    assert score.aer == pytest.approx(1 - 5 / 7)
    assert score.precision == pytest.approx(3 / 4)
    assert score.recall == pytest.approx(2 / 3)
    assert score.f1 == pytest.approx(12 / 17)
    assert score.links == 4
    assert str(score) == "AER = 0.286 (precision 0.750, recall 0.667, F1 0.706, 4 links)"


def test_counts_are_pooled_over_the_corpus() -> None:
    # Sentence 1: |A| = 1, |S| = 1, all right. Sentence 2: |A| = 2, |S| = 4, one right.
    predicted: list[Links] = [frozenset({(0, 0)}), frozenset({(0, 0), (9, 9)})]
    score = alignment_score(predicted, [gold({(0, 0)}, set()), gold({(0, 0), (1, 1), (2, 2), (3, 3)}, set())])
    assert score.aer == pytest.approx(1 - 4 / 8)
    assert (score.precision, score.recall, score.links) == (pytest.approx(2 / 3), pytest.approx(2 / 5), 3)


def test_only_sure_links_must_be_found_and_possible_ones_are_no_error() -> None:
    score = alignment_score([frozenset({(0, 0), (1, 2)})], [gold({(0, 0)}, {(1, 2), (2, 1)})])
    assert score[:4] == (0, 1, 1, 1)


def test_a_sure_link_is_possible_even_where_it_is_not_said() -> None:
    assert alignment_score([frozenset({(0, 0)})], [Gold(frozenset({(0, 0)}), frozenset())])[:4] == (0, 1, 1, 1)


@pytest.mark.parametrize(
    ("predicted", "sure", "expected"),
    [
        (set(), set(), (0, 1, 1, 1, 0)),
        (set(), {(0, 0)}, (1, 1, 0, 0, 0)),
        ({(0, 0)}, set(), (1, 0, 1, 0, 1)),
        ({(0, 0)}, {(1, 1)}, (1, 0, 0, 0, 1)),
    ],
)
def test_a_share_of_nothing_is_perfect(
    predicted: set[tuple[int, int]], sure: set[tuple[int, int]], expected: tuple[float, ...]
) -> None:
    assert alignment_score([frozenset(predicted)], [gold(sure, set())]) == expected


def test_alignment_counts_that_differ_are_refused_with_both() -> None:
    with pytest.raises(EvaluationError, match="^2 predicted alignments but 1 gold alignments"):
        alignment_score([frozenset(), frozenset()], [gold(set(), set())])


links = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)))


@given(st.lists(st.tuples(links, links, links), max_size=4))
def test_without_possible_links_aer_is_one_minus_f1(sentences: list[tuple[Links, Links, Links]]) -> None:
    predicted = [a for a, _, _ in sentences]
    only_sure = alignment_score(predicted, [Gold(s, s) for _, s, _ in sentences])
    assert 0 <= only_sure.aer <= 1
    if only_sure.links and any(s for _, s, _ in sentences):
        assert only_sure.aer == pytest.approx(1 - only_sure.f1)
    with_possible = alignment_score(predicted, [Gold(s, s | p) for _, s, p in sentences])
    assert with_possible.aer <= only_sure.aer and with_possible.recall == only_sure.recall
