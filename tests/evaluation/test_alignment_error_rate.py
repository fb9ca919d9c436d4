"""The error rate, precision and recall of alignments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.links import Gold, Links
from nmt.evaluation.alignment_error_rate import alignment_score
from nmt.evaluation.errors import EvaluationError


def gold(sure: set[tuple[int, int]], possible: set[tuple[int, int]]) -> Gold:
    return Gold(frozenset(sure), frozenset(sure | possible))


def test_alignment_score_equals_its_formulas() -> None:
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
    # Sentence 1: |A| = 1, |S| = 1, all correct. Sentence 2: |A| = 2, |S| = 4, one correct.
    predicted: list[Links] = [frozenset({(0, 0)}), frozenset({(0, 0), (9, 9)})]
    score = alignment_score(predicted, [gold({(0, 0)}, set()), gold({(0, 0), (1, 1), (2, 2), (3, 3)}, set())])
    assert score.aer == pytest.approx(1 - 4 / 8)
    assert (score.precision, score.recall, score.links) == (pytest.approx(2 / 3), pytest.approx(2 / 5), 3)


def test_only_sure_links_must_be_found_and_possible_ones_are_no_error() -> None:
    score = alignment_score([frozenset({(0, 0), (1, 2)})], [gold({(0, 0)}, {(1, 2), (2, 1)})])
    assert score[:4] == (0, 1, 1, 1)


def test_every_sure_link_counts_as_possible() -> None:
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
def test_an_empty_denominator_is_perfect(
    predicted: set[tuple[int, int]], sure: set[tuple[int, int]], expected: tuple[float, ...]
) -> None:
    assert alignment_score([frozenset(predicted)], [gold(sure, set())]) == expected


def test_different_numbers_of_alignments_are_refused_with_both() -> None:
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
