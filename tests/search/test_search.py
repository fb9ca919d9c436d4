"""Search: hand-drawn Markov chains, exhaustive search, and a plain Python beam search as oracles."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from nmt import search
from nmt.backend.compiling import compile_function
from nmt.text.pieces import BOS, EOS, PAD

A, B, C = 4, 5, 6
NEVER = -1e30


# Hand-drawn chains: the state is a table of log-probabilities, [batch, last piece, next piece].


def chain(pieces: int, **rows: dict[int, float]) -> np.ndarray:
    """A table from probabilities: chain(6, start={A: 0.5}, A={EOS: 1.0}); what is not named cannot be."""
    table = np.full((1, pieces, pieces), NEVER, np.float32)
    last = {"start": BOS, "A": A, "B": B, "C": C}
    for name, nexts in rows.items():
        for piece, probability in nexts.items():
            table[0, last[name], piece] = math.log(probability)
    return table


def markov(last: Any, table: Any) -> tuple[Any, Any, Any]:
    """One step of the chain; records which piece it was asked to continue."""
    rows = ops.take_along_axis(table, ops.cast(last, "int32")[:, None, None], axis=1)[:, 0]
    return search.Distribution(rows), table, ops.one_hot(last, table.shape[-1])


def run(
    table: np.ndarray,
    limits: list[int],
    slots: int,
    alpha: float = 0.0,
    longest: int | None = None,
    step: search.Step = markov,
    width: int | None = None,
) -> search.SearchResult:
    """Searches without a compiler; NumPy arrays come back."""
    found = search.search(
        step,
        ops.convert_to_tensor(table),
        ops.convert_to_tensor(limits, "int32"),
        longest or max(limits),
        width or table.shape[-1],
        search.SearchMethod(slots, scoring=search.Scoring(alpha)),
    )
    return search.SearchResult(*map(ops.convert_to_numpy, found))


def pieces(found: search.SearchResult, row: int = 0, slot: int = 0) -> list[int]:
    return found.tokens[row, slot, : found.lengths[row, slot]].tolist()


TEMPTING = chain(
    6,
    start={A: 0.5, B: 0.4, EOS: 0.1},
    A={EOS: 0.4, A: 0.3, B: 0.3},
    B={EOS: 0.9, A: 0.05, B: 0.05},
)
"""Greedy search goes to A and ends with 0.5 * 0.4 = 0.2; by way of B it would have been 0.4 * 0.9 = 0.36."""


@pytest.mark.parametrize(("slots", "best", "probability"), [(1, [A, EOS], 0.2), (2, [B, EOS], 0.36)])
def test_a_beam_finds_what_greedy_search_walks_past(slots: int, best: list[int], probability: float) -> None:
    found = run(TEMPTING, [5], slots)
    assert pieces(found) == best
    assert found.finished[0, 0]
    np.testing.assert_allclose(found.log_probabilities[0, 0], math.log(probability), rtol=1e-6)
    np.testing.assert_allclose(found.scores[0, 0], math.log(probability), rtol=1e-6)
    assert found.tokens[0, 0].tolist() == best + [PAD] * 3


def test_of_the_likeliest_the_sharper_numbers_decide() -> None:
    """Roughly A is likelier than B and C; sharply B is, and what cannot come does not, however likely it is."""
    table = chain(7, start={A: 0.3, B: 0.2, C: 0.5}, A={EOS: 1.0}, B={EOS: 1.0}, C={EOS: 1.0})
    sharper = np.full((7,), NEVER, np.float32)
    sharper[[A, B, C, EOS]] = np.log([0.2, 0.3, 0.5, 1.0])

    def step(last: Any, table: Any) -> tuple[Any, Any, Any]:
        said, state, record = markov(last, table)
        return said._replace(exact=lambda pieces: ops.take(sharper, pieces), impossible=(C,)), state, record

    for slots in (1, 3):
        found = run(table, [3], slots, step=step)
        assert pieces(found) == [B, EOS]
        np.testing.assert_allclose(np.exp(found.log_probabilities[0, 0]), 0.3, rtol=1e-5)
    assert pieces(found, slot=1) == [A, EOS]


def test_a_finished_hypothesis_takes_its_slot() -> None:
    """A beam of two is one live hypothesis wide once the empty translation has ended: A C is walked past."""
    table = chain(7, start={EOS: 0.4, A: 0.58, B: 0.02}, A={B: 0.55, C: 0.45}, B={B: 0.9, EOS: 0.1}, C={EOS: 1.0})
    # (5 + 3) / 6 squared is 16 / 9: ln(0.58 * 0.45) * 9 / 16 = -0.7555 beats ln(0.4) = -0.9163.
    narrow, wide = run(table, [3], 2, alpha=2.0), run(table, [3], 3, alpha=2.0)
    assert pieces(narrow) == [EOS]
    np.testing.assert_allclose(narrow.scores[0, 0], -0.9163, atol=1e-4)
    assert pieces(wide) == [A, C, EOS]
    np.testing.assert_allclose(wide.scores[0, 0], -0.7555, atol=1e-4)


def test_finished_hypotheses_stop_paying() -> None:
    table = chain(6, start={EOS: 0.3, A: 0.7}, A={A: 0.99, EOS: 0.01})
    found = run(table, [20], 2)
    # The live one hopes for long (0.7 * 0.99 ** n > 0.3), ends never, and changes nothing about the first.
    assert pieces(found) == [EOS]
    np.testing.assert_allclose(found.log_probabilities[0, 0], math.log(0.3), rtol=1e-6)
    assert found.lengths[0].tolist() == [1, 20]
    assert found.finished[0].tolist() == [True, False]
    np.testing.assert_allclose(found.log_probabilities[0, 1], math.log(0.7 * 0.99**19), rtol=1e-5)


def test_search_stops_when_no_live_hypothesis_can_become_the_best() -> None:
    """After EOS 0.9 has ended, nothing live can beat it: what waits in the other slot is not extended."""
    found = run(chain(6, start={EOS: 0.9, A: 0.1}, A={A: 1.0}), [50], 2)
    assert found.lengths[0].tolist() == [1, 1]


def test_the_bound_knows_that_longer_hypotheses_are_divided_by_more() -> None:
    """A (0.4) is live when EOS (0.6) has ended; at length 2 and alpha 4 it wins: ln 0.4 / (7 / 6) ** 4 > ln 0.6."""
    table = chain(6, start={EOS: 0.6, A: 0.4}, A={EOS: 1.0})
    assert pieces(run(table, [2], 2, alpha=0.0)) == [EOS]
    found = run(table, [2], 2, alpha=4.0)
    assert pieces(found) == [A, EOS]
    np.testing.assert_allclose(found.scores[0, 0], math.log(0.4) / (7 / 6) ** 4, rtol=1e-6)


def test_length_penalty_is_that_of_wu_et_al() -> None:
    np.testing.assert_allclose(search.length_penalty(np.array([1, 7, 13]), 1.0), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(search.length_penalty(np.array([1, 7]), 0.5), [1.0, 2**0.5], rtol=1e-6)
    np.testing.assert_allclose(search.length_penalty(np.array([1, 7, 13]), 0.0), [1.0, 1.0, 1.0])


@pytest.mark.parametrize("slots", [1, 3])
def test_each_sentence_has_its_own_limit(slots: int) -> None:
    table = chain(6, start={A: 0.6, B: 0.4}, A={B: 0.9, EOS: 0.1}, B={A: 0.8, B: 0.15, EOS: 0.05})
    limits = [1, 3, 7]
    together = run(np.repeat(table, 3, axis=0), limits, slots, longest=9)
    for row, limit in enumerate(limits):
        alone = run(table, [limit], slots)
        assert together.lengths[row].max() == limit
        assert not together.tokens[row, :, limit:].any()
        np.testing.assert_array_equal(together.tokens[row, :, :limit], alone.tokens[0])
        np.testing.assert_allclose(together.log_probabilities[row], alone.log_probabilities[0], rtol=1e-6)


def test_finished_hypotheses_come_before_cut_ones() -> None:
    """A cut hypothesis lacks the cost of its ending, however likely it is so far."""
    found = run(chain(6, start={EOS: 0.01, A: 0.99}, A={A: 1.0}), [4], 2)
    assert [pieces(found, slot=k) for k in range(2)] == [[EOS], [A, A, A, A]]
    assert found.finished[0].tolist() == [True, False]


def test_cut_hypotheses_are_in_the_order_of_their_scores() -> None:
    """Where several are cut, the likelier comes first, although A began better; what ended is before all of them."""
    table = chain(6, start={A: 0.6, B: 0.39, EOS: 0.01}, A={A: 0.5, EOS: 0.5}, B={B: 1.0})
    found = run(table, [3], 4)
    assert found.finished[0].tolist() == [True, True, True, False]
    cut = run(chain(6, start={A: 0.6, B: 0.4}, A={A: 0.7, B: 0.3}, B={B: 1.0}), [3], 4)
    assert not cut.finished.any()
    assert [pieces(cut, slot=k) for k in range(4)] == [[B, B, B], [A, A, A], [A, B, B], [A, A, B]]
    assert (np.diff(cut.scores[0]) < 0).all()


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_slots_that_no_hypothesis_fills_never_end_and_come_last(alpha: float) -> None:
    """Two hypotheses are possible and both are cut; six slots wait for more."""
    found = run(chain(6, start={A: 0.6, B: 0.4}, A={A: 1.0}, B={B: 1.0}), [3], 6, alpha)
    assert [pieces(found, slot=k) for k in range(2)] == [[A, A, A], [B, B, B]]
    assert not found.finished.any()
    assert (found.log_probabilities[0, 2:] <= search.IMPOSSIBLE).all()


# Random step functions whose next piece depends on the whole history.


class Tiny(NamedTuple):
    """Parameters of a tiny recurrent step function, one set a sentence, and its state."""

    hidden: Any
    """[batch, 3]."""
    mix: Any
    """[batch, 3, 3]."""
    embedding: Any
    """[batch, vocabulary, 3]."""
    output: Any
    """[batch, 3, vocabulary]."""

    @classmethod
    def draw(cls, seed: int, batch: int, vocabulary: int, eos: float = 0.0) -> Tiny:
        random = np.random.default_rng(seed)
        shapes = (batch, 3), (batch, 3, 3), (batch, vocabulary, 3), (batch, 3, vocabulary)
        drawn = cls(*(random.normal(0.0, 1.5, shape).astype(np.float32) for shape in shapes))
        drawn.hidden[:, 2] = 1.0  # read by `eos`: makes ending likelier, or less likely
        drawn.output[:, 2, EOS] += eos
        return drawn

    def of(self, rows: list[int]) -> Tiny:
        return Tiny(*(values[rows] for values in self))

    def of_vocabulary(self, size: int) -> Tiny:
        """The same, its axes known but for the first: a compiled program knows none of its arguments'."""
        shapes = (-1, 3), (-1, 3, 3), (-1, size, 3), (-1, 3, size)
        return Tiny(*(ops.reshape(values, shape) for values, shape in zip(self, shapes, strict=True)))


def tiny_step(last: Any, tiny: Tiny) -> tuple[Any, Tiny, Any]:
    embedded = ops.take_along_axis(tiny.embedding, ops.cast(last, "int32")[:, None, None], axis=1)[:, 0]
    hidden = ops.tanh(ops.matmul(tiny.hidden[:, None], tiny.mix)[:, 0] + embedded)
    logits = ops.matmul(hidden[:, None], tiny.output)[:, 0]
    return search.Distribution(ops.log_softmax(logits)), tiny._replace(hidden=hidden), hidden


def tiny_step_numpy(last: int, hidden: np.ndarray, tiny: Tiny, row: int) -> tuple[np.ndarray, np.ndarray]:
    hidden = np.tanh(hidden @ tiny.mix[row].astype(float) + tiny.embedding[row, last])
    logits = hidden @ tiny.output[row].astype(float)
    return logits - np.log(np.exp(logits).sum()), hidden


class Path(NamedTuple):
    """A hypothesis of the oracles."""

    pieces: tuple[int, ...]
    log_probability: float
    hidden: np.ndarray

    @property
    def finished(self) -> bool:
        return self.pieces[-1:] == (EOS,)

    def rank(self, alpha: float) -> tuple[bool, float]:
        return self.finished, self.log_probability / ((5 + len(self.pieces)) / 6) ** alpha


def continuations(path: Path, tiny: Tiny, row: int) -> Iterator[Path]:
    log_probabilities, hidden = tiny_step_numpy(path.pieces[-1] if path.pieces else BOS, path.hidden, tiny, row)
    for piece, value in enumerate(log_probabilities):
        yield Path((*path.pieces, piece), path.log_probability + value, hidden)


def plain_beam(tiny: Tiny, row: int, limit: int, slots: int) -> list[Path]:
    """Beam search as its description says it, in lists, to the limit: nothing stops it early."""
    live, finished = [Path((), 0.0, tiny.hidden[row].astype(float))], []
    for _ in range(limit):
        paths = (path for parent in live for path in continuations(parent, tiny, row))
        best = sorted(paths, key=lambda path: -path.log_probability)[: slots - len(finished)]
        live = [path for path in best if not path.finished]
        finished += [path for path in best if path.finished]
    return finished + live


def exhaustive(tiny: Tiny, row: int, limit: int) -> list[Path]:
    """Every hypothesis: those that end within the limit, and those that are cut there."""
    live, finished = [Path((), 0.0, tiny.hidden[row].astype(float))], []
    for _ in range(limit):
        paths = [path for parent in live for path in continuations(parent, tiny, row)]
        live = [path for path in paths if not path.finished]
        finished += [path for path in paths if path.finished]
    return finished + live


@functools.cache
def compiled(slots: int, longest: int, vocabulary: int) -> Callable[..., Any]:
    def run(tiny: Tiny, limits: Any, alpha: Any) -> search.SearchResult:
        how = search.SearchMethod(slots, scoring=search.Scoring(alpha))
        return search.search(tiny_step, tiny.of_vocabulary(vocabulary), limits, longest, 3, how)

    return compile_function(run)


def search_tiny(tiny: Tiny, limits: list[int], slots: int, alpha: float, longest: int) -> search.SearchResult:
    found = compiled(slots, longest, tiny.embedding.shape[1])(tiny, np.array(limits, np.int32), np.float32(alpha))
    return search.SearchResult(*map(ops.convert_to_numpy, found))


SEEDS = st.integers(0, 2**32 - 1)
ALPHAS = st.sampled_from([0.0, 0.6, 1.0, 2.5])


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS, alpha=ALPHAS, eos=st.sampled_from([-4.0, 0.0, 2.0]))
def test_a_beam_as_wide_as_the_space_equals_exhaustive_search(seed: int, alpha: float, eos: float) -> None:
    """Four pieces, at most three: 1 + 3 + 9 hypotheses end, 27 are cut. 40 slots hold them all."""
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
def test_a_beam_of_one_is_a_greedy_loop(seed: int) -> None:
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
def test_batch_mates_and_their_order_change_nothing(seed: int, order: list[int], alpha: float) -> None:
    """Neither of the best nor of the slots behind it."""
    tiny, limits = Tiny.draw(seed, 4, 7), [6, 2, 5, 4]
    together = search_tiny(tiny, limits, 3, alpha, 6)
    shuffled = search_tiny(tiny.of(order), [limits[row] for row in order], 3, alpha, 6)
    for place, row in enumerate(order):
        alone = search_tiny(tiny.of([row]), [limits[row]], 3, alpha, 6)
        for name in search.SearchResult._fields:
            expected = getattr(together, name)[row]
            np.testing.assert_allclose(getattr(shuffled, name)[place], expected, rtol=1e-5, atol=1e-5, err_msg=name)
            np.testing.assert_allclose(getattr(alone, name)[0], expected, rtol=1e-5, atol=1e-5, err_msg=name)


@settings(max_examples=8, deadline=None)
@given(seed=SEEDS, slots=st.sampled_from([3, 5]), alpha=ALPHAS)
def test_every_slot_holds_another_hypothesis_with_its_own_numbers(seed: int, slots: int, alpha: float) -> None:
    """Re-scored piece by piece, each has the log-probability, the score and the records that search gave."""
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
