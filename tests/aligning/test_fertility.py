"""Fertilities: their distribution under a posterior, and their effect on emissions."""

from __future__ import annotations

from math import comb

import numpy as np

from nmt.aligning.fertility import MOST, distribution, factors, log_ratios


def test_the_distribution_is_binomial_where_words_are_alike():
    words = np.full((1, 5, 1), 0.3)
    expected = [comb(5, n) * 0.3**n * 0.7 ** (5 - n) for n in range(6)]
    np.testing.assert_allclose(distribution(words)[0, 0, :6], expected)


def test_many_words_count_as_the_largest_fertility():
    found = distribution(np.ones((1, MOST + 3, 1)))
    assert found[0, 0].tolist() == [0] * (MOST - 1) + [1]


def test_a_word_that_generates_one_word_refuses_a_second():
    """Word 0 always generated one word and word 1 always two: where another word is linked already, only 1 welcomes
    it."""
    counts = np.zeros((2, MOST))
    counts[0, 1] = counts[1, 2] = 100
    posterior = np.zeros((1, 2, 2))
    posterior[0, 0] = 1  # both generate the first word
    found = factors(log_ratios(counts), np.array([[0, 1]], np.int32), posterior)
    assert found[0, 1, 0] < 0.1 < 10 < found[0, 1, 1]  # a second word
    assert found[0, 0, 0] > 10  # the first word itself meets no other
