"""Restrictions: each one against exhaustive search under the same rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tiny_model import SEEDS, WIDE, Tiny, assert_best, best_allowed, search_under

from nmt import search
from nmt.text.pieces import PAD


def suppressed(slots: int, pieces: Any, *_: Any) -> search.SearchMethod:
    return search.SearchMethod(slots, restrictions=(search.SuppressedPieces(pieces),))


def minimum_length(slots: int, lengths: Any, *_: Any) -> search.SearchMethod:
    return search.SearchMethod(slots, restrictions=(search.MinimumLength(lengths),))


def no_repeated_unigram(slots: int, *_: Any) -> search.SearchMethod:
    return search.SearchMethod(slots, restrictions=(search.NoRepeatedNgram(1),))


def no_repeated_bigram(slots: int, *_: Any) -> search.SearchMethod:
    return search.SearchMethod(slots, restrictions=(search.NoRepeatedNgram(2),))


def forced_prefix(slots: int, pieces: Any, *_: Any) -> search.SearchMethod:
    return search.SearchMethod(slots, restrictions=(search.ForcedPrefix(pieces),))


@settings(max_examples=6, deadline=None)
@given(seed=SEEDS)
def test_suppressed_pieces_never_appear_and_the_best_other_hypothesis_is_found(seed: int) -> None:
    tiny = Tiny.draw(seed, 3, 5)
    found = search_under(suppressed, tiny, WIDE, np.array([False, True, False, False, True]))
    assert not np.isin(found.tokens[:, :, :], [1, 4])[found.log_probabilities > -1e29].any()
    for row in range(3):
        assert_best(found, row, best_allowed(tiny, row, lambda pieces: not {1, 4} & set(pieces)))


@settings(max_examples=6, deadline=None)
@given(seed=SEEDS)
def test_minimum_lengths_count_pieces_without_the_end_of_sentence(seed: int) -> None:
    tiny = Tiny.draw(seed, 4, 5, eos=3.0)
    least = [0, 1, 2, 3]
    found = search_under(minimum_length, tiny, WIDE, np.array(least, np.int32))
    for row in range(4):
        assert (found.lengths[row][found.finished[row]] > least[row]).all()
        assert_best(found, row, best_allowed(tiny, row, lambda pieces, row=row: len(pieces) - 1 >= least[row]))


@pytest.mark.parametrize("size", [1, 2])
@settings(max_examples=6, deadline=None)
@given(seed=SEEDS)
def test_no_ngram_appears_twice(size: int, seed: int) -> None:
    tiny = Tiny.draw(seed, 3, 5, eos=-2.0)

    def fresh(pieces: tuple[int, ...]) -> bool:
        # N-grams that end in PAD may be repeated.
        runs = [pieces[i : i + size] for i in range(len(pieces) - size + 1)]
        return all(runs.count(run) == 1 or run[-1] == PAD for run in runs)

    found = search_under(no_repeated_unigram if size == 1 else no_repeated_bigram, tiny, WIDE)
    for row in range(3):
        assert_best(found, row, best_allowed(tiny, row, fresh))


@settings(max_examples=6, deadline=None)
@given(seed=SEEDS)
def test_hypotheses_begin_with_a_forced_prefix_and_include_its_log_probability(seed: int) -> None:
    tiny = Tiny.draw(seed, 3, 5)
    prefixes = [(4, 1), (2,), ()]
    found = search_under(forced_prefix, tiny, WIDE, np.array([[4, 1], [2, PAD], [PAD, PAD]], np.int32))
    for row, prefix in enumerate(prefixes):
        assert_best(found, row, best_allowed(tiny, row, lambda pieces, prefix=prefix: pieces[: len(prefix)] == prefix))
