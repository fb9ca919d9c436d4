"""Greedy and beam search against hand-drawn chains, exhaustive search and a plain Python beam search."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from chains import IMPOSSIBLE, A, B, C, chain, chain_step, pieces, search_chain
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import SEEDS, Tiny, exhaustive, plain_beam, tiny_step, tiny_step_numpy

from nmt import search
from nmt.backend import ops
from nmt.backend.compiling import compile_function
from nmt.text.pieces import BOS, EOS, PAD


def beam(slots: int, alpha: float = 0.0) -> search.SearchMethod:
    return search.SearchMethod(slots, scoring=search.Scoring(alpha))


TEMPTING = chain(
    6,
    start={A: 0.5, B: 0.4, EOS: 0.1},
    A={EOS: 0.4, A: 0.3, B: 0.3},
    B={EOS: 0.9, A: 0.05, B: 0.05},
)
"""Greedy search chooses A and ends with probability 0.5 * 0.4 = 0.2. The best path is B with 0.4 * 0.9 = 0.36."""


@pytest.mark.parametrize(("slots", "best", "probability"), [(1, [A, EOS], 0.2), (2, [B, EOS], 0.36)])
def test_a_beam_finds_a_hypothesis_that_greedy_search_misses(slots: int, best: list[int], probability: float) -> None:
    found = search_chain(TEMPTING, [5], beam(slots))
    assert pieces(found) == best
    assert found.finished[0, 0]
    np.testing.assert_allclose(found.log_probabilities[0, 0], math.log(probability), rtol=1e-6)
    np.testing.assert_allclose(found.scores[0, 0], math.log(probability), rtol=1e-6)
    assert found.tokens[0, 0].tolist() == best + [PAD] * 3


def test_exact_log_probabilities_decide_between_the_most_probable_pieces() -> None:
    """Rounded, A is more probable than B; exactly, B is. C is impossible, although it is the most probable."""
    table = chain(7, start={A: 0.3, B: 0.2, C: 0.5}, A={EOS: 1.0}, B={EOS: 1.0}, C={EOS: 1.0})
    exact = np.full((7,), IMPOSSIBLE, np.float32)
    exact[[A, B, C, EOS]] = np.log([0.2, 0.3, 0.5, 1.0])

    def step(last: Any, table: Any) -> tuple[Any, Any, Any]:
        distribution, state, record = chain_step(last, table)
        return distribution._replace(exact=lambda pieces: ops.take(exact, pieces), impossible=(C,)), state, record

    for slots in (1, 3):
        found = search_chain(table, [3], beam(slots), step=step)
        assert pieces(found) == [B, EOS]
        np.testing.assert_allclose(np.exp(found.log_probabilities[0, 0]), 0.3, rtol=1e-5)
    assert pieces(found, slot=1) == [A, EOS]


def test_a_finished_hypothesis_keeps_its_slot() -> None:
    """In a beam of two, one live hypothesis is left after the empty translation has ended, so the beam misses A C."""
    table = chain(7, start={EOS: 0.4, A: 0.58, B: 0.02}, A={B: 0.55, C: 0.45}, B={B: 0.9, EOS: 0.1}, C={EOS: 1.0})
    # (5 + 3) / 6 squared is 16 / 9: ln(0.58 * 0.45) * 9 / 16 = -0.7555 beats ln(0.4) = -0.9163.
    narrow, wide = search_chain(table, [3], beam(2, 2.0)), search_chain(table, [3], beam(3, 2.0))
    assert pieces(narrow) == [EOS]
    np.testing.assert_allclose(narrow.scores[0, 0], -0.9163, atol=1e-4)
    assert pieces(wide) == [A, C, EOS]
    np.testing.assert_allclose(wide.scores[0, 0], -0.7555, atol=1e-4)


def test_a_finished_hypothesis_keeps_its_log_probability() -> None:
    table = chain(6, start={EOS: 0.3, A: 0.7}, A={A: 0.99, EOS: 0.01})
    found = search_chain(table, [20], beam(2))
    # The live hypothesis could win for many steps (0.7 * 0.99 ** n > 0.3), and it never ends.
    assert pieces(found) == [EOS]
    np.testing.assert_allclose(found.log_probabilities[0, 0], math.log(0.3), rtol=1e-6)
    assert found.lengths[0].tolist() == [1, 20]
    assert found.finished[0].tolist() == [True, False]
    np.testing.assert_allclose(found.log_probabilities[0, 1], math.log(0.7 * 0.99**19), rtol=1e-5)


def test_search_stops_when_no_live_hypothesis_can_become_the_best() -> None:
    """No live hypothesis can beat EOS with 0.9, so the other slot is not extended."""
    found = search_chain(chain(6, start={EOS: 0.9, A: 0.1}, A={A: 1.0}), [50], beam(2))
    assert found.lengths[0].tolist() == [1, 1]


def test_the_bound_of_a_live_hypothesis_includes_the_length_penalty() -> None:
    """EOS has ended with 0.6 and A is live with 0.4. With alpha 4, A wins at length 2: ln 0.4 / (7 / 6) ** 4 > ln
    0.6."""
    table = chain(6, start={EOS: 0.6, A: 0.4}, A={EOS: 1.0})
    assert pieces(search_chain(table, [2], beam(2, 0.0))) == [EOS]
    found = search_chain(table, [2], beam(2, 4.0))
    assert pieces(found) == [A, EOS]
    np.testing.assert_allclose(found.scores[0, 0], math.log(0.4) / (7 / 6) ** 4, rtol=1e-6)


@pytest.mark.parametrize("slots", [1, 3])
def test_each_sentence_has_its_own_limit(slots: int) -> None:
    table = chain(6, start={A: 0.6, B: 0.4}, A={B: 0.9, EOS: 0.1}, B={A: 0.8, B: 0.15, EOS: 0.05})
    limits = [1, 3, 7]
    together = search_chain(np.repeat(table, 3, axis=0), limits, beam(slots), longest=9)
    for row, limit in enumerate(limits):
        alone = search_chain(table, [limit], beam(slots))
        assert together.lengths[row].max() == limit
        assert not together.tokens[row, :, limit:].any()
        np.testing.assert_array_equal(together.tokens[row, :, :limit], alone.tokens[0])
        np.testing.assert_allclose(together.log_probabilities[row], alone.log_probabilities[0], rtol=1e-6)


def test_finished_hypotheses_come_before_cut_ones() -> None:
    """A cut hypothesis has not paid for its ending, so its log-probability is not comparable."""
    found = search_chain(chain(6, start={EOS: 0.01, A: 0.99}, A={A: 1.0}), [4], beam(2))
    assert [pieces(found, slot=k) for k in range(2)] == [[EOS], [A, A, A, A]]
    assert found.finished[0].tolist() == [True, False]


def test_cut_hypotheses_are_sorted_by_their_scores() -> None:
    """B B B is more probable than A A A, although A began better. Finished hypotheses precede cut ones."""
    table = chain(6, start={A: 0.6, B: 0.39, EOS: 0.01}, A={A: 0.5, EOS: 0.5}, B={B: 1.0})
    found = search_chain(table, [3], beam(4))
    assert found.finished[0].tolist() == [True, True, True, False]
    cut = search_chain(chain(6, start={A: 0.6, B: 0.4}, A={A: 0.7, B: 0.3}, B={B: 1.0}), [3], beam(4))
    assert not cut.finished.any()
    assert [pieces(cut, slot=k) for k in range(4)] == [[B, B, B], [A, A, A], [A, B, B], [A, A, B]]
    assert (np.diff(cut.scores[0]) < 0).all()


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_empty_slots_never_finish_and_come_last(alpha: float) -> None:
    """Two hypotheses are possible and both are cut, so four of six slots stay empty."""
    found = search_chain(chain(6, start={A: 0.6, B: 0.4}, A={A: 1.0}, B={B: 1.0}), [3], beam(6, alpha))
    assert [pieces(found, slot=k) for k in range(2)] == [[A, A, A], [B, B, B]]
    assert not found.finished.any()
    assert (found.log_probabilities[0, 2:] <= IMPOSSIBLE).all()


@functools.cache
def compiled(slots: int, longest: int, vocabulary: int) -> Callable[..., Any]:
    def run(tiny: Tiny, limits: Any, alpha: Any) -> search.SearchResult:
        method = beam(slots, alpha)
        return search.search(tiny_step, tiny.with_vocabulary(vocabulary), limits, longest, 3, method)

    return compile_function(run)


def search_tiny(tiny: Tiny, limits: list[int], slots: int, alpha: float, longest: int) -> search.SearchResult:
    found = compiled(slots, longest, tiny.embedding.shape[1])(tiny, np.array(limits, np.int32), np.float32(alpha))
    return search.SearchResult(*map(keras.ops.convert_to_numpy, found))


ALPHAS = st.sampled_from([0.0, 0.6, 1.0, 2.5])


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS, alpha=ALPHAS, eos=st.sampled_from([-4.0, 0.0, 2.0]))
def test_a_beam_as_wide_as_the_space_equals_exhaustive_search(seed: int, alpha: float, eos: float) -> None:
    """With four pieces and at most three steps, 1 + 3 + 9 hypotheses end and 27 are cut; 40 slots hold all of them."""
    tiny, limits = Tiny.draw(seed, 6, 4, eos), [3, 2, 3, 1, 3, 2]
    found = search_tiny(tiny, limits, 40, alpha, 3)
    for row, limit in enumerate(limits):
        best = max(exhaustive(tiny, row, limit), key=lambda path: path.rank(alpha))
        assert tuple(pieces(found, row)) == best.pieces
        np.testing.assert_allclose(found.log_probabilities[row, 0], best.log_probability, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found.scores[row, 0], best.rank(alpha)[1], rtol=1e-4, atol=1e-5)
        assert found.finished[row, 0]


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, alpha=ALPHAS, slots=st.sampled_from([2, 3, 5]), eos=st.sampled_from([-4.0, 0.0, 2.0]))
def test_search_equals_a_plain_beam_search_that_never_stops_early(
    seed: int, alpha: float, slots: int, eos: float
) -> None:
    tiny, limits = Tiny.draw(seed, 4, 7, eos), [6, 1, 4, 6]
    found = search_tiny(tiny, limits, slots, alpha, 6)
    for row, limit in enumerate(limits):
        best = max(plain_beam(tiny, row, limit, slots), key=lambda path: path.rank(alpha))
        assert tuple(pieces(found, row)) == best.pieces
        np.testing.assert_allclose(found.log_probabilities[row, 0], best.log_probability, rtol=1e-4, atol=1e-5)


@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_a_beam_of_one_equals_greedy_search(seed: int) -> None:
    tiny = Tiny.draw(seed, 6, 7)
    found = search_tiny(tiny, [6] * 6, 1, 0.0, 6)
    for row in range(6):
        greedy: list[int] = []
        hidden = tiny.hidden[row].astype(float)
        while len(greedy) < 6 and greedy[-1:] != [EOS]:
            log_probabilities, hidden = tiny_step_numpy(greedy[-1] if greedy else BOS, hidden, tiny, row)
            greedy.append(int(log_probabilities.argmax()))
        assert pieces(found, row) == greedy


@settings(max_examples=8, deadline=None)
@given(seed=SEEDS, order=st.permutations(range(4)), alpha=ALPHAS)
def test_the_result_of_a_sentence_does_not_depend_on_its_batch(seed: int, order: list[int], alpha: float) -> None:
    """All slots are compared, with other sentences in another order and with the sentence alone."""
    tiny, limits = Tiny.draw(seed, 4, 7), [6, 2, 5, 4]
    together = search_tiny(tiny, limits, 3, alpha, 6)
    shuffled = search_tiny(tiny.take(order), [limits[row] for row in order], 3, alpha, 6)
    for place, row in enumerate(order):
        alone = search_tiny(tiny.take([row]), [limits[row]], 3, alpha, 6)
        for name in search.SearchResult._fields:
            expected = getattr(together, name)[row]
            np.testing.assert_allclose(getattr(shuffled, name)[place], expected, rtol=1e-5, atol=1e-5, err_msg=name)
            np.testing.assert_allclose(getattr(alone, name)[0], expected, rtol=1e-5, atol=1e-5, err_msg=name)


@settings(max_examples=8, deadline=None)
@given(seed=SEEDS, slots=st.sampled_from([3, 5]), alpha=ALPHAS)
def test_every_slot_holds_a_different_hypothesis_with_its_own_scores(seed: int, slots: int, alpha: float) -> None:
    """Scored again piece by piece, each hypothesis has the log-probability, score and records that the search gave."""
    tiny = Tiny.draw(seed, 4, 7)
    found = search_tiny(tiny, [6, 6, 4, 1], slots, alpha, 6)
    for row in range(4):
        hypotheses = [tuple(pieces(found, row, slot)) for slot in range(slots)]
        assert len(set(hypotheses)) == slots
        for slot, hypothesis in enumerate(hypotheses):
            total, last, hidden = 0.0, BOS, tiny.hidden[row].astype(float)
            for time, piece in enumerate(hypothesis):
                log_probabilities, hidden = tiny_step_numpy(last, hidden, tiny, row)
                total, last = total + log_probabilities[piece], piece
                np.testing.assert_allclose(found.records[row, slot, time], hidden, rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(found.log_probabilities[row, slot], total, rtol=1e-4, atol=1e-4)
            penalty = ((5 + len(hypothesis)) / 6) ** alpha
            np.testing.assert_allclose(found.scores[row, slot], total / penalty, rtol=1e-4, atol=1e-4)
            assert found.finished[row, slot] == (hypothesis[-1] == EOS)
            assert not found.records[row, slot, len(hypothesis) :].any()
        ranks = list(zip(found.finished[row].tolist(), found.scores[row].tolist(), strict=True))
        assert all(better >= worse for better, worse in itertools.pairwise(ranks))


def test_the_search_continues_until_the_nbest_hypotheses_have_finished() -> None:
    table = chain(6, start={EOS: 0.9, A: 0.1}, A={A: 0.5, EOS: 0.5})
    assert search_chain(table, [9], search.SearchMethod(3)).finished[0].tolist() == [True, False, False]
    found = search_chain(table, [9], search.SearchMethod(3, nbest=3))
    assert [pieces(found, slot=k) for k in range(3)] == [[EOS], [A, EOS], [A, A, EOS]]
    np.testing.assert_allclose(np.exp(found.log_probabilities[0]), [0.9, 0.05, 0.025], rtol=1e-5)


def test_diversity_keeps_siblings_from_filling_the_beam() -> None:
    """Without diversity both slots continue A. A penalty of 1 nat gives the second slot to B."""
    table = chain(7, start={A: 0.7, B: 0.3}, A={A: 0.5, C: 0.4, EOS: 0.1}, B={B: 0.8, EOS: 0.2}, C={EOS: 1.0})
    plain = search_chain(table, [2], search.SearchMethod(2, nbest=2))
    assert [pieces(plain, slot=k) for k in range(2)] == [[A, A], [A, C]]
    select = functools.partial(search.select_most_probable, diversity=1.0)
    diverse = search_chain(table, [2], search.SearchMethod(2, select, nbest=2))
    assert [pieces(diverse, slot=k) for k in range(2)] == [[A, A], [B, B]]
    np.testing.assert_allclose(diverse.log_probabilities[0, 1], math.log(0.3 * 0.8), rtol=1e-5)  # without the penalty


def test_hypotheses_far_behind_the_best_are_pruned() -> None:
    """B is 2.2 nats behind A at first. Without pruning it wins, because the continuations of A are improbable."""
    table = chain(7, start={A: 0.9, B: 0.1}, A={C: 0.05, EOS: 0.08}, B={EOS: 1.0}, C={EOS: 0.5})

    def found(margin: float, nbest: int = 1) -> search.SearchResult:
        select = functools.partial(search.select_most_probable, margin=margin, nbest=nbest)
        return search_chain(table, [3], search.SearchMethod(2, select, nbest=nbest))

    assert math.log(0.9 / 0.1) == pytest.approx(2.2, abs=0.01)
    assert pieces(found(2.3)) == pieces(found(0)) == [B, EOS]
    pruned = found(2.1)
    assert pieces(pruned) == [A, EOS]
    np.testing.assert_allclose(pruned.log_probabilities[0, 0], math.log(0.9 * 0.08), rtol=1e-5)
    # With an n-best list of two, the margin counts from the second best hypothesis.
    assert [pieces(found(2.1, nbest=2), slot=k) for k in range(2)] == [[B, EOS], [A, EOS]]
