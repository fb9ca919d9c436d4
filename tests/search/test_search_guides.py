"""What guides, rankings and samples are for: exhaustive search under the same rule as oracle, or numbers by hand."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from keras import ops
from test_search import SEEDS, A, B, C, Path, Tiny, chain, exhaustive, markov, pieces, tiny_step

from nmt import search
from nmt.backend.compiling import compile_function
from nmt.search.constraints import rank_in_bank
from nmt.text.pieces import EOS, PAD

LIMIT = 4
"""With five pieces, of which PAD and BOS are pieces like others here: 40 hypotheses end, 81 are cut at most."""


def look(table: np.ndarray, limits: list[int], how: search.SearchMethod) -> search.SearchResult:
    """Searches a hand-drawn chain without a compiler."""
    limits = ops.convert_to_tensor(limits, "int32")
    longest = int(ops.max(limits))
    found = search.search(markov, ops.convert_to_tensor(table), limits, longest, table.shape[-1], how)
    return search.SearchResult(*map(ops.convert_to_numpy, found))


@functools.cache
def compiled(rule: str, slots: int, vocabulary: int) -> Callable[..., Any]:
    """A search of `Tiny` under a rule, compiled once."""

    def run(tiny: Tiny, limits: Any, extra: Any) -> search.SearchResult:
        how = {
            "suppressed": lambda: search.SearchMethod(slots, restrictions=(search.SuppressedPieces(extra),)),
            "at least": lambda: search.SearchMethod(slots, restrictions=(search.MinimumLength(extra),)),
            "ngram 1": lambda: search.SearchMethod(slots, restrictions=(search.NoRepeatedNgram(1),)),
            "ngram 2": lambda: search.SearchMethod(slots, restrictions=(search.NoRepeatedNgram(2),)),
            "prefix": lambda: search.SearchMethod(slots, restrictions=(search.ForcedPrefix(extra),)),
            "power": lambda: search.SearchMethod(slots, scoring=search.Scoring(0.7, "power")),
            "phrases": lambda: constrained(slots, extra, limits, vocabulary),
        }[rule]()
        return search.search(tiny_step, tiny.of_vocabulary(vocabulary), limits, LIMIT, 3, how)

    return compile_function(run)


@settings(deadline=None)
@given(
    totals=st.lists(st.sampled_from([-1.0, -2.0, -2.5, -1e30]), min_size=1, max_size=12),
    seed=st.integers(0, 99),
)
def test_a_rank_is_how_many_of_a_bank_are_better(totals, seed):
    """Counted one by one as the oracle."""
    draw = np.random.default_rng(seed)
    missing, possible = draw.integers(0, 3, len(totals)), draw.random(len(totals)) < 0.8
    values = np.array([totals], np.float32), missing[None].astype(np.int32), possible[None]
    found = rank_in_bank(*map(ops.convert_to_tensor, values), banks=3)
    places = range(len(totals))
    expected = [
        sum(
            missing[j] == missing[i] and possible[j] and (totals[j] > totals[i] or totals[j] == totals[i] and j < i)
            for j in places
        )
        for i in places
    ]
    assert ops.convert_to_numpy(found)[0].tolist() == expected


def constrained(slots: int, phrases: Any, limits: Any, vocabulary: int) -> search.SearchMethod:
    constraints = search.Constraints(phrases, np.zeros(vocabulary, bool), limits)
    return search.SearchMethod(slots, search.BankedSelection(constraints), (constraints,))


NO_MORE = np.int32(0)


def find(rule: str, tiny: Tiny, slots: int, extra: Any = NO_MORE, limit: int = LIMIT) -> search.SearchResult:
    limits = np.full(len(tiny.hidden), limit, np.int32)
    found = compiled(rule, slots, tiny.embedding.shape[1])(tiny, limits, extra)
    return search.SearchResult(*map(ops.convert_to_numpy, found))


def best_of(tiny: Tiny, row: int, allowed: Callable[[tuple[int, ...]], bool], alpha: float = 0.0) -> Path:
    """The best finished hypothesis that is allowed."""
    paths = [p for p in exhaustive(tiny, row, LIMIT) if p.finished and allowed(p.pieces)]
    return max(paths, key=lambda path: path.rank(alpha))


def is_best(found: search.SearchResult, row: int, best: Path) -> None:
    assert tuple(pieces(found, row)) == best.pieces
    np.testing.assert_allclose(found.log_probabilities[row, 0], best.log_probability, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.piece_log_probabilities[row, 0].sum(), best.log_probability, rtol=1e-4, atol=1e-5)


WIDE = 1 + 4 + 16 + 64 * 5
"""Slots for every hypothesis of four of five pieces, one of which ends it: the finished, and all that may come last."""


@settings(max_examples=6, deadline=None)
@given(seed=SEEDS)
def test_suppressed_pieces_never_come_and_the_rest_is_searched_exactly(seed: int) -> None:
    tiny = Tiny.draw(seed, 3, 5)
    found = find("suppressed", tiny, WIDE, np.array([False, True, False, False, True]))
    assert not np.isin(found.tokens[:, :, :], [1, 4])[found.log_probabilities > -1e29].any()
    for row in range(3):
        is_best(found, row, best_of(tiny, row, lambda pieces: not {1, 4} & set(pieces)))


@settings(max_examples=6, deadline=None)
@given(seed=SEEDS)
def test_least_lengths_count_without_the_end_of_sentence(seed: int) -> None:
    tiny = Tiny.draw(seed, 4, 5, eos=3.0)
    least = [0, 1, 2, 3]
    found = find("at least", tiny, WIDE, np.array(least, np.int32))
    for row in range(4):
        assert (found.lengths[row][found.finished[row]] > least[row]).all()
        is_best(found, row, best_of(tiny, row, lambda pieces, row=row: len(pieces) - 1 >= least[row]))


@pytest.mark.parametrize("size", [1, 2])
@settings(max_examples=6, deadline=None)
@given(seed=SEEDS)
def test_no_run_of_pieces_comes_twice(size: int, seed: int) -> None:
    tiny = Tiny.draw(seed, 3, 5, eos=-2.0)

    def fresh(pieces: tuple[int, ...]) -> bool:
        # PAD stands for nothing: runs with it are not counted.
        runs = [pieces[i : i + size] for i in range(len(pieces) - size + 1)]
        return all(runs.count(run) == 1 or run[-1] == PAD for run in runs)

    found = find(f"ngram {size}", tiny, WIDE)
    for row in range(3):
        is_best(found, row, best_of(tiny, row, fresh))


@settings(max_examples=6, deadline=None)
@given(seed=SEEDS)
def test_a_forced_prefix_is_there_and_paid_for(seed: int) -> None:
    tiny = Tiny.draw(seed, 3, 5)
    prefixes = [(4, 1), (2,), ()]
    found = find("prefix", tiny, WIDE, np.array([[4, 1], [2, PAD], [PAD, PAD]], np.int32))
    for row, prefix in enumerate(prefixes):
        is_best(found, row, best_of(tiny, row, lambda pieces, prefix=prefix: pieces[: len(prefix)] == prefix))


@settings(max_examples=6, deadline=None)
@given(seed=SEEDS)
@example(seed=510511)  # the best one's last piece is less probable than a hundred others
def test_the_power_of_the_length_ranks(seed: int) -> None:
    tiny = Tiny.draw(seed, 3, 5)
    found = find("power", tiny, WIDE)
    for row in range(3):
        paths = [p for p in exhaustive(tiny, row, LIMIT) if p.finished]
        best = max(paths, key=lambda path: path.log_probability / len(path.pieces) ** 0.7)
        is_best(found, row, best)
        np.testing.assert_allclose(
            found.scores[row, 0], best.log_probability / len(best.pieces) ** 0.7, rtol=1e-4, atol=1e-5
        )


def holds(sentence: tuple[int, ...], phrases: list[tuple[int, ...]]) -> bool:
    """Whether the phrases are there without overlap, in any order."""
    if not phrases:
        return True
    for place in range(len(sentence)):
        for phrase in phrases:
            if sentence[place : place + len(phrase)] == phrase:
                rest = list(phrases)
                rest.remove(phrase)
                if holds((*sentence[:place], -1, *sentence[place + len(phrase) :]), rest):
                    return True
    return False


PHRASES = [[(4,)], [(4, 1)], [(2,), (4,)], [], [(1, 1)], [(4, 2)]]


@settings(max_examples=5, deadline=None)
@given(seed=SEEDS, eos=st.sampled_from([-3.0, 0.0, 3.0]))
def test_constraints_are_always_met_and_a_wide_beam_finds_the_best_that_meets_them(seed: int, eos: float) -> None:
    """PAD is no piece here: it is what phrases are filled up with."""
    tiny = Tiny.draw(seed, len(PHRASES), 5, eos)
    wanted = np.zeros((len(PHRASES), 2, 2), np.int32)
    for row, phrases in enumerate(PHRASES):
        for place, phrase in enumerate(phrases):
            wanted[row, place, : len(phrase)] = phrase
    wide, narrow = (find("phrases", tiny, slots, wanted) for slots in (WIDE, 2))
    for row, phrases in enumerate(PHRASES):

        def allowed(pieces: tuple[int, ...], phrases: list[tuple[int, ...]] = phrases) -> bool:
            return PAD not in pieces and holds(pieces, phrases)

        is_best(wide, row, best_of(tiny, row, allowed))
        for found in (wide, narrow):
            assert holds(tuple(pieces(found, row)), phrases)  # the first one even where it was cut
            for slot in np.flatnonzero(found.finished[row]):
                assert holds(tuple(pieces(found, row, int(slot))), phrases)


def test_a_phrase_that_is_left_begins_anew() -> None:
    """A B is wanted; A A B holds it: the second A begins the phrase again."""
    constraints = search.Constraints(np.array([[[A, B]]], np.int32), np.zeros(7, bool), np.array([9], np.int32))
    progress = constraints.begin(1, 1)
    missing = []
    for piece in (A, A, B, C):
        progress = constraints.advance(progress, ops.convert_to_tensor([[piece]], "int32"))
        missing.append(int(constraints.missing(progress)[0, 0]))
    assert missing == [1, 1, 0, 0]


def test_a_word_does_not_go_on_behind_a_phrase() -> None:
    """C joins the word before it; without the rule A C would win."""
    table = chain(7, start={A: 1.0}, A={C: 0.9, EOS: 0.1}, C={EOS: 1.0})
    phrase, limits = np.array([[[A]]], np.int32), np.array([5], np.int32)
    for joins, best in [([C], [A, EOS]), ([], [A, C, EOS])]:
        constraints = search.Constraints(phrase, np.isin(np.arange(7), joins), limits)
        how = search.SearchMethod(2, search.BankedSelection(constraints), (constraints,))
        assert pieces(look(table, [5], how)) == best


def test_no_hypothesis_is_there_twice_among_constrained_ones() -> None:
    table = chain(7, start={A: 0.4, B: 0.4, C: 0.2}, A={A: 0.5, EOS: 0.5}, B={B: 0.5, EOS: 0.5}, C={EOS: 1.0})
    constraints = search.Constraints(np.array([[[B], [A]]], np.int32), np.zeros(7, bool), np.array([6], np.int32))
    found = look(table, [6], search.SearchMethod(5, search.BankedSelection(constraints), (constraints,), nbest=5))
    real = [tuple(pieces(found, slot=k)) for k in range(5) if found.log_probabilities[0, k] > -1e29]
    assert len(set(real)) == len(real)


def test_coverage_penalty_by_hand() -> None:
    """Wu et al. 2016: ln 0.5 for the half-covered position, 0 where more than 1 was received, padding not counted."""
    received = np.array([[[0.5, 1.7, 0.0]]], np.float32)
    real = np.array([[True, True, False]])
    np.testing.assert_allclose(search.coverage_penalty(received, real), [[math.log(0.5)]], rtol=1e-6)


def test_coverage_decides_between_hypotheses() -> None:
    """The chain records which piece it continued: A A EOS "attends" to A only, A B EOS to A and B."""
    table = chain(7, start={A: 1.0}, A={A: 0.3, B: 0.2, EOS: 0.5}, B={EOS: 1.0})
    real = np.isin(np.arange(7), [A, B])[None]
    plain = look(table, [3], search.SearchMethod(4, nbest=4))
    assert pieces(plain) == [A, EOS]
    covered = look(table, [3], search.SearchMethod(4, scoring=search.Scoring(coverage=0.2, real=real), nbest=4))
    assert pieces(covered) == [A, B, EOS]
    np.testing.assert_allclose(covered.scores[0, 0], math.log(0.2), rtol=1e-5)
    np.testing.assert_allclose(covered.scores[0, 1], math.log(0.5) + 0.2 * math.log(1e-6), rtol=1e-5)


def test_as_many_hypotheses_as_are_wanted_are_searched_to_their_end() -> None:
    table = chain(6, start={EOS: 0.9, A: 0.1}, A={A: 0.5, EOS: 0.5})
    assert look(table, [9], search.SearchMethod(3)).finished[0].tolist() == [True, False, False]
    found = look(table, [9], search.SearchMethod(3, nbest=3))
    assert [pieces(found, slot=k) for k in range(3)] == [[EOS], [A, EOS], [A, A, EOS]]
    np.testing.assert_allclose(np.exp(found.log_probabilities[0]), [0.9, 0.05, 0.025], rtol=1e-5)


def test_diversity_keeps_siblings_from_filling_the_beam() -> None:
    """Without it both slots go on from A; a sibling that pays 1 nat leaves the second to B."""
    table = chain(7, start={A: 0.7, B: 0.3}, A={A: 0.5, C: 0.4, EOS: 0.1}, B={B: 0.8, EOS: 0.2}, C={EOS: 1.0})
    plain = look(table, [2], search.SearchMethod(2, nbest=2))
    assert [pieces(plain, slot=k) for k in range(2)] == [[A, A], [A, C]]
    choose = functools.partial(search.select_most_probable, diversity=1.0)
    diverse = look(table, [2], search.SearchMethod(2, choose, nbest=2))
    assert [pieces(diverse, slot=k) for k in range(2)] == [[A, A], [B, B]]
    np.testing.assert_allclose(diverse.log_probabilities[0, 1], math.log(0.3 * 0.8), rtol=1e-5)  # it pays nowhere else


def test_what_falls_far_behind_is_given_up() -> None:
    """B is 2.2 nats behind A and would win in the end: A's ways part."""
    table = chain(7, start={A: 0.9, B: 0.1}, A={C: 0.05, EOS: 0.08}, B={EOS: 1.0}, C={EOS: 0.5})

    def found(margin: float, nbest: int = 1) -> search.SearchResult:
        choose = functools.partial(search.select_most_probable, margin=margin, nbest=nbest)
        return look(table, [3], search.SearchMethod(2, choose, nbest=nbest))

    assert math.log(0.9 / 0.1) == pytest.approx(2.2, abs=0.01)
    assert pieces(found(2.3)) == pieces(found(0)) == [B, EOS]
    pruned = found(2.1)
    assert pieces(pruned) == [A, EOS]
    np.testing.assert_allclose(pruned.log_probabilities[0, 0], math.log(0.9 * 0.08), rtol=1e-5)
    # Of two that are wanted, the second best is what others are compared with.
    assert [pieces(found(2.1, nbest=2), slot=k) for k in range(2)] == [[B, EOS], [A, EOS]]


# Samples.


def sample(table: np.ndarray, number: int, slots: int, **how: Any) -> search.SearchResult:
    sampling = search.Sampling(np.array([number] * len(table), np.uint32), **how)
    return look(table, [3] * len(table), search.SearchMethod(slots, sampling, nbest=slots, independent=True))


def test_samples_come_as_often_as_the_model_says() -> None:
    table = chain(7, start={A: 0.5, B: 0.3, EOS: 0.2}, A={EOS: 1.0}, B={A: 0.25, EOS: 0.75})
    found = sample(table, 3, 4000)
    counts = dict.fromkeys([(A, EOS), (B, A, EOS), (B, EOS), (EOS,)], 0)
    for slot in range(4000):
        counts[tuple(pieces(found, slot=slot))] += 1
    expected = {(A, EOS): 0.5, (B, A, EOS): 0.075, (B, EOS): 0.225, (EOS,): 0.2}
    for path, probability in expected.items():
        deviation = math.sqrt(probability * (1 - probability) / 4000)
        assert abs(counts[path] / 4000 - probability) < 4 * deviation
    for slot in range(50):
        chance = expected[tuple(pieces(found, slot=slot))]
        np.testing.assert_allclose(found.log_probabilities[0, slot], math.log(chance), rtol=1e-5)


def test_temperature_sharpens_and_flattens() -> None:
    """At 1/2 probabilities are squared: 0.64 to 0.04 is 16 to 1."""
    table = chain(6, start={A: 0.8, B: 0.2}, A={EOS: 1.0}, B={EOS: 1.0})
    for temperature, share in [(1.0, 0.8), (0.5, 16 / 17), (2.0, 2 / 3)]:
        found = sample(table, 5, 3000, temperature=temperature)
        assert abs((found.tokens[0, :, 0] == A).mean() - share) < 0.03


@pytest.mark.parametrize(
    ("how", "kept"),
    [({"top_k": 1}, {A}), ({"top_k": 2}, {A, B}), ({"top_p": 0.49}, {A}), ({"top_p": 0.51}, {A, B}), ({}, {A, B, C})],
)
def test_only_the_likeliest_are_drawn(how: dict[str, Any], kept: set[int]) -> None:
    """A 0.5, B 0.3, C 0.2: the nucleus of a little less than 0.5 is A alone, of a little more A and B."""
    table = chain(7, start={A: 0.5, B: 0.3, C: 0.2}, A={EOS: 1.0}, B={EOS: 1.0}, C={EOS: 1.0})
    assert set(sample(table, 1, 400, **how).tokens[0, :, 0].tolist()) == kept


def test_a_sentence_s_samples_are_a_function_of_its_number() -> None:
    table = chain(7, start={A: 0.4, B: 0.4, C: 0.2}, A={A: 0.5, EOS: 0.5}, B={EOS: 1.0}, C={C: 0.9, EOS: 0.1})
    alone = [sample(table, number, 8).tokens[0] for number in (1, 2)]
    assert (alone[0] != alone[1]).any()
    both = search.Sampling(np.array([2, 1], np.uint32))
    how = search.SearchMethod(8, both, nbest=8, independent=True)
    together = look(np.repeat(table, 2, axis=0), [3, 3], how)
    np.testing.assert_array_equal(together.tokens[0], alone[1])
    np.testing.assert_array_equal(together.tokens[1], alone[0])
