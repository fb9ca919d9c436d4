"""Scores of hypotheses: length penalty and coverage penalty."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from chains import A, B, chain, pieces, search_chain
from hypothesis import example, given, settings
from tiny_model import LIMIT, SEEDS, WIDE, Tiny, assert_best, exhaustive, search_under

from nmt import search
from nmt.text.pieces import EOS


def test_the_length_penalty_equals_the_formula() -> None:
    np.testing.assert_allclose(search.length_penalty(np.array([1, 7, 13]), 1.0), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(search.length_penalty(np.array([1, 7]), 0.5), [1.0, 2**0.5], rtol=1e-6)
    np.testing.assert_allclose(search.length_penalty(np.array([1, 7, 13]), 0.0), [1.0, 1.0, 1.0])


def power_of_length(slots: int, *_: Any) -> search.SearchMethod:
    return search.SearchMethod(slots, scoring=search.Scoring(0.7, "power"))


@settings(max_examples=6, deadline=None)
@given(seed=SEEDS)
@example(seed=510511)  # over a hundred continuations of the last step are more probable than the best hypothesis
def test_hypotheses_can_be_sorted_by_a_power_of_the_length(seed: int) -> None:
    tiny = Tiny.draw(seed, 3, 5)
    found = search_under(power_of_length, tiny, WIDE)
    for row in range(3):
        paths = [p for p in exhaustive(tiny, row, LIMIT) if p.finished]
        best = max(paths, key=lambda path: path.log_probability / len(path.pieces) ** 0.7)
        assert_best(found, row, best)
        np.testing.assert_allclose(
            found.scores[row, 0], best.log_probability / len(best.pieces) ** 0.7, rtol=1e-4, atol=1e-5
        )


def test_the_coverage_penalty_equals_the_formula() -> None:
    """Wu et al. 2016: ln 0.5 for a coverage of 0.5, 0 for a coverage above 1; padding is ignored."""
    received = np.array([[[0.5, 1.7, 0.0]]], np.float32)
    real = np.array([[True, True, False]])
    np.testing.assert_allclose(search.coverage_penalty(received, real), [[math.log(0.5)]], rtol=1e-6)


def test_the_coverage_penalty_decides_between_hypotheses() -> None:
    """The chain records the last piece as attention: A EOS attends to A, A B EOS attends to A and B."""
    table = chain(7, start={A: 1.0}, A={A: 0.3, B: 0.2, EOS: 0.5}, B={EOS: 1.0})
    real = np.isin(np.arange(7), [A, B])[None]
    plain = search_chain(table, [3], search.SearchMethod(4, nbest=4))
    assert pieces(plain) == [A, EOS]
    covered = search_chain(table, [3], search.SearchMethod(4, scoring=search.Scoring(coverage=0.2, real=real), nbest=4))
    assert pieces(covered) == [A, B, EOS]
    np.testing.assert_allclose(covered.scores[0, 0], math.log(0.2), rtol=1e-5)
    np.testing.assert_allclose(covered.scores[0, 1], math.log(0.5) + 0.2 * math.log(1e-6), rtol=1e-5)
