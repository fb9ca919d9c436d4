"""Bootstrap intervals of the alignment error rate, and paired comparison of links."""

from __future__ import annotations

import tracemalloc

import pytest

from nmt.alignment.links import Gold
from nmt.evaluation.alignment_bootstrap import aer_interval, compare_links
from nmt.evaluation.alignment_error_rate import LinkCounts, link_counts, score_of_counts
from nmt.evaluation.errors import EvaluationError

RIGHT, WRONG = LinkCounts(1, 1, 1, 1), LinkCounts(1, 1, 0, 0)


def test_equal_sentences_have_an_interval_without_width() -> None:
    half = LinkCounts(2, 2, 1, 1)
    assert aer_interval([half] * 20) == (0.5, 0.5)


def test_the_interval_is_that_of_the_binomial_distribution() -> None:
    # AER of n sentences with one link each is the share of wrong ones: 0.3 +- 1.96 sqrt(0.3 * 0.7 / 400) = 0.045
    low, high = aer_interval([WRONG] * 120 + [RIGHT] * 280)
    assert low == pytest.approx(0.3 - 0.045, abs=0.006)
    assert high == pytest.approx(0.3 + 0.045, abs=0.006)


def test_equal_seeds_give_equal_intervals() -> None:
    counts = [WRONG] * 3 + [RIGHT] * 7
    assert aer_interval(counts) == aer_interval(counts)
    assert aer_interval(counts, 10, seed=1) != aer_interval(counts, 10, seed=2)


def test_a_consistent_difference_is_significant_and_the_same_links_are_not() -> None:
    better, worse = [RIGHT] * 95 + [WRONG] * 5, [RIGHT] * 75 + [WRONG] * 25
    found = compare_links(better, worse)
    assert found.difference == pytest.approx(-0.2)
    assert found.p_value == pytest.approx(1 / 1001)
    assert found.interval.low < -0.2 < found.interval.high < 0
    assert compare_links(worse, better).p_value == found.p_value
    assert compare_links(better, better) == (0, (0, 0), 1)


def test_one_better_sentence_of_many_is_not_significant() -> None:
    assert compare_links([RIGHT] * 50, [RIGHT] * 49 + [WRONG]).p_value > 0.1


def test_pairing_counts() -> None:
    """Sentences that are hard for both aligners do not hide a difference that each sentence has."""
    hard, easy = LinkCounts(10, 10, 2, 2), LinkCounts(10, 10, 9, 9)
    hard_better, easy_better = LinkCounts(10, 10, 3, 3), LinkCounts(10, 10, 10, 10)
    first, second = [hard_better, easy_better] * 15, [hard, easy] * 15
    assert aer_interval(first).high > aer_interval(second).low  # the intervals overlap
    assert compare_links(first, second).p_value < 0.01


def test_sentences_without_links_are_measured() -> None:
    nothing = LinkCounts(0, 0, 0, 0)
    assert aer_interval([nothing] * 3) == (0, 0)
    assert score_of_counts([]).aer == 0


def test_counts_are_those_of_the_definitions() -> None:
    gold = Gold(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (2, 1)}))
    assert link_counts([frozenset({(0, 0), (2, 1), (3, 3)})], [gold]) == [(3, 2, 1, 2)]


def test_different_numbers_of_sentences_are_refused() -> None:
    with pytest.raises(EvaluationError, match="^1 sentences with links but 2 sentences with other links"):
        compare_links([RIGHT], [RIGHT, RIGHT])


def test_memory_does_not_grow_with_the_number_of_test_sets() -> None:
    counts = [RIGHT, WRONG] * 10_000
    tracemalloc.start()
    aer_interval(counts, resamples=20)
    few = tracemalloc.get_traced_memory()[1]
    aer_interval(counts, resamples=60)
    many = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert many < 1.5 * few
