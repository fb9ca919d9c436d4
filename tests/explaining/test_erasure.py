"""Rank correlation, agreement of attention with erasure, and what an erasure holds."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nmt.alignment.word_alignment import WordAlignment
from nmt.explaining.erasure import Erasure, ErasureError, agreement, spearman

numbers = st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.1, 0.25, 1.0, 7.5]), min_size=2, max_size=8)


def test_rank_correlation_by_hand() -> None:
    # 1 - 6 sum d^2 / (n (n^2 - 1)) where no values are equal: d = 1, 1, 0.
    assert spearman([1, 2, 3], [20, 10, 30]) == pytest.approx(1 - 6 * 2 / (3 * 8))
    assert spearman([0.1, 0.2, 0.7], [-5, 0, 90]) == pytest.approx(1)
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1)
    # Ranks 1.5, 1.5, 3 and 1, 2, 3: 1.5 / sqrt(1.5 * 2).
    assert spearman([0, 0, 5], [1, 2, 3]) == pytest.approx(1.5 / math.sqrt(3))
    assert all(math.isnan(spearman(*pair)) for pair in (([], []), ([1], [2]), ([1, 1], [1, 2]), ([1, 2], [3, 3])))


def test_rank_correlation_is_scipys() -> None:
    random = np.random.default_rng(0)
    for length in range(2, 30):
        one, two = random.integers(0, 6, (2, length)) + [[0] * (length - 1) + [9]] * 2  # many equals
        assert spearman(one, two) == pytest.approx(stats.spearmanr(one, two).statistic)


def test_rank_correlation_of_rows_equals_that_of_each_row_without_warnings() -> None:
    one, two = np.random.default_rng(1).integers(0, 3, (2, 50, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = spearman(one, two)
        np.testing.assert_array_equal(found, [spearman(*rows) for rows in zip(one, two, strict=True)])
    few = [len({*a}) < 2 or len({*b}) < 2 for a, b in zip(one.tolist(), two.tolist(), strict=True)]
    assert 0 < sum(few) < 50
    np.testing.assert_array_equal(np.isnan(found), few)


@given(numbers, st.randoms())
def test_rank_correlation_knows_order_alone(one: list[float], random: object) -> None:
    two = [random.random() for _ in one]  # type: ignore[attr-defined]
    value = spearman(one, two)
    assert math.isnan(value) or -1 - 1e-9 <= value <= 1 + 1e-9
    np.testing.assert_allclose(spearman(two, one), value)
    np.testing.assert_allclose(spearman(np.exp(one), two), value)
    np.testing.assert_allclose(spearman(-np.array(one), two), -value, atol=1e-12)


def both(weights: list[list[float]], falls: list[list[float]]) -> tuple[WordAlignment, Erasure]:
    array = np.array(weights, np.float32)
    words = tuple("abcdef"[: array.shape[1]]), tuple("uvwxyz"[: array.shape[0]])
    rows = len(array)
    return WordAlignment(*words, array, np.zeros(rows)), Erasure(*words, np.zeros(rows), np.array(falls))


def test_agreement_by_hand() -> None:
    weights = [[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
    falls = [[5.0, 1.0, 0.5], [-1.0, 0.0, 3.0], [2.0, 2.0, 2.0]]
    found = agreement(*both(weights, falls))
    np.testing.assert_allclose(found.rank_correlations, [1.0, -1.0, np.nan])
    np.testing.assert_array_equal(found.same_first, [1, 0, np.nan])


def test_source_words_that_are_not_read_are_not_compared() -> None:
    """Zeros in both for a word without pieces would be one more place in which they agree."""
    read = agreement(*both([[0.2, 0.5, 0.3]], [[0.3, 0.2, 0.1]]))
    more = agreement(*both([[0.2, 0.0, 0.5, 0.3]], [[0.3, 0.0, 0.2, 0.1]]))
    np.testing.assert_array_equal(read.rank_correlations, more.rank_correlations)
    nothing = agreement(*both([[0.0, 0.0]], [[0.0, 0.0]]))
    assert np.isnan(nothing.rank_correlations).all() and np.isnan(nothing.same_first).all()


def test_agreement_needs_the_same_words() -> None:
    alignment, _ = both([[1.0, 0.0]], [[1.0, 0.0]])
    other = Erasure(("a", "b"), ("other",), np.zeros(1), np.zeros((1, 2)))
    with pytest.raises(ErasureError, match="another sentence pair"):
        agreement(alignment, other)


def test_json_there_and_back() -> None:
    for erasure in (
        Erasure(("a", "b"), ("x",), np.array([-1.5]), np.array([[0.25, -3.0]]), "attention"),
        Erasure(("a",), (), np.zeros(0), np.zeros((0, 1))),
        Erasure((), ("x", "y"), np.zeros(2), np.zeros((2, 0))),
    ):
        back = Erasure.from_json(json.loads(json.dumps(erasure.to_json())))
        assert (back.source, back.target, back.method) == (erasure.source, erasure.target, erasure.method)
        np.testing.assert_array_equal(back.falls, erasure.falls)
        np.testing.assert_array_equal(back.log_probabilities, erasure.log_probabilities)
    with pytest.raises(ErasureError, match="erasure: 'falls' is missing"):
        Erasure.from_json({"source": [], "target": [], "log_probabilities": [], "way": "word"})


@pytest.mark.parametrize("falls", [[[1.0]], [[np.nan, 0.0]], [["x", "y"]], [1.0, 2.0]])
def test_numbers_that_do_not_fit_the_words_are_refused(falls: list) -> None:
    with pytest.raises(ErasureError, match=r"falls.*expected .*numbers of shape \[1, 2\]"):
        Erasure(("a", "b"), ("x",), np.zeros(1), falls)
