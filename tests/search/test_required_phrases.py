"""Constraints: phrases that must appear, against exhaustive search and hand-drawn chains."""

from __future__ import annotations

from itertools import product
from typing import Any

import keras
import numpy as np
from chains import A, B, C, chain, pieces, search_chain
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import SEEDS, WIDE, Tiny, assert_best, best_allowed, search_under

from nmt import search
from nmt.backend import ops
from nmt.search.phrase_tracking import CLOSED, OPEN, START
from nmt.search.required_phrases import rank_in_bank
from nmt.text.pieces import EOS, PAD


@settings(deadline=None)
@given(
    totals=st.lists(st.sampled_from([-1.0, -2.0, -2.5, -1e30]), min_size=1, max_size=12),
    seed=st.integers(0, 99),
)
def test_the_rank_in_a_bank_is_the_number_of_better_candidates(totals, seed):
    """The oracle compares all pairs of candidates."""
    draw = np.random.default_rng(seed)
    missing, possible = draw.integers(0, 3, len(totals)), draw.random(len(totals)) < 0.8
    values = np.array([totals], np.float32), missing[None].astype(np.int32), possible[None]
    found = rank_in_bank(*map(keras.ops.convert_to_tensor, values), banks=3)
    candidates = range(len(totals))
    expected = [
        sum(
            missing[j] == missing[i] and possible[j] and (totals[j] > totals[i] or totals[j] == totals[i] and j < i)
            for j in candidates
        )
        for i in candidates
    ]
    assert keras.ops.convert_to_numpy(found)[0].tolist() == expected


def requirements(forms: Any, joins: Any, limits: Any, phrases: Any = None) -> search.Constraints:
    """Required phrases; without `phrases` each form is a phrase."""
    if phrases is None:
        phrases = np.where(forms[:, :, 0] == PAD, -2, np.arange(forms.shape[1]))
    return search.Constraints(
        search.PhraseTracker(forms, phrases, ops.zeros_like(phrases) + 7, joins, np.zeros_like(joins)), limits
    )


def constrained(slots: int, arguments: Any, limits: Any, vocabulary: int) -> search.SearchMethod:
    forms, phrases = arguments
    constraints = requirements(forms, np.zeros(vocabulary, bool), limits, phrases)
    return search.SearchMethod(slots, search.PhraseSelection(constraints), (constraints,))


def contains(sentence: tuple[int, ...], phrases: list[tuple[int, ...]]) -> bool:
    """Whether the sentence contains the phrases without overlap, in any order."""
    if not phrases:
        return True
    for start in range(len(sentence)):
        for phrase in phrases:
            if sentence[start : start + len(phrase)] == phrase:
                rest = list(phrases)
                rest.remove(phrase)
                if contains((*sentence[:start], -1, *sentence[start + len(phrase) :]), rest):
                    return True
    return False


PHRASES: list[list[list[tuple[int, ...]]]] = [
    [[(4,)]],
    [[(4, 1)]],
    [[(2,)], [(4,)]],
    [],
    [[(1, 1)]],
    [[(4, 2)]],
    [[(4,), (2,)]],
    [[(4, 2), (4, 1), (1, 2)]],
    [[(1,), (2,)], [(4,)]],
]
"""The phrases of each sentence, each with its forms. Forms of one phrase have equal lengths, because the search keeps
room for the longest."""


def as_arrays(sentences: list[list[list[tuple[int, ...]]]]) -> tuple[np.ndarray, np.ndarray]:
    """The forms of each sentence's phrases [sentences, 4, 2], and the phrase of each form."""
    forms, numbers = np.zeros((len(sentences), 4, 2), np.int32), np.full((len(sentences), 4), -2, np.int32)
    for row, phrases in enumerate(sentences):
        listed = [(number, form) for number, of_phrase in enumerate(phrases) for form in of_phrase]
        for place, (number, form) in enumerate(listed):
            forms[row, place, : len(form)] = form
            numbers[row, place] = number
    return forms, numbers


@settings(max_examples=5, deadline=None)
@given(seed=SEEDS, eos=st.sampled_from([-3.0, 0.0, 3.0]))
def test_constraints_are_always_met_and_a_wide_beam_finds_the_best_such_hypothesis(seed: int, eos: float) -> None:
    """PAD only fills the ends of forms, so no allowed hypothesis contains it. Of each phrase one form is enough."""
    tiny = Tiny.draw(seed, len(PHRASES), 5, eos)
    wide, narrow = (search_under(constrained, tiny, slots, as_arrays(PHRASES)) for slots in (WIDE, 2))
    for row, phrases in enumerate(PHRASES):

        def allowed(pieces: tuple[int, ...], phrases: list[list[tuple[int, ...]]] = phrases) -> bool:
            return PAD not in pieces and any(contains(pieces, list(forms)) for forms in product(*phrases))

        assert_best(wide, row, best_allowed(tiny, row, allowed))
        for found in (wide, narrow):
            assert allowed(tuple(pieces(found, row)))  # the first hypothesis even if it was cut
            for slot in np.flatnonzero(found.finished[row]):
                assert allowed(tuple(pieces(found, row, int(slot))))


PLACED: list[list[tuple[tuple[int, ...], int]]] = [
    [((2,), START | OPEN | CLOSED), ((1,), OPEN)],
    [((2,), START | OPEN | CLOSED), ((1,), OPEN | CLOSED)],
    [((2, 4), START | OPEN | CLOSED), ((1, 4), OPEN)],
]
"""The forms of the phrase of each sentence, and where each may begin. One form may begin anywhere, as with a space."""


def placed(slots: int, arguments: Any, limits: Any, vocabulary: int) -> search.SearchMethod:
    """Piece 4 stands for an apostrophe."""
    forms, places = arguments
    opens = np.arange(vocabulary) == 4
    tracker = search.PhraseTracker(forms, ops.zeros_like(places), places, np.zeros(vocabulary, bool), opens)
    constraints = search.Constraints(tracker, limits)
    return search.SearchMethod(slots, search.PhraseSelection(constraints), (constraints,))


@settings(max_examples=5, deadline=None)
@given(seed=SEEDS, eos=st.sampled_from([-3.0, 0.0, 3.0]))
def test_each_form_counts_where_it_may_begin_and_a_wide_beam_finds_the_best_hypothesis(seed: int, eos: float) -> None:
    tiny = Tiny.draw(seed, len(PLACED), 5, eos)
    forms, places = np.zeros((len(PLACED), 2, 2), np.int32), np.zeros((len(PLACED), 2), np.int32)
    for row, of_phrase in enumerate(PLACED):
        for number, (form, place) in enumerate(of_phrase):
            forms[row, number, : len(form)], places[row, number] = form, place
    wide = search_under(placed, tiny, WIDE, (forms, places))
    for row, of_phrase in enumerate(PLACED):

        def allowed(pieces: tuple[int, ...], of_phrase: list[tuple[tuple[int, ...], int]] = of_phrase) -> bool:
            here = [START, *(OPEN if piece == 4 else CLOSED for piece in pieces)]
            return PAD not in pieces and any(
                pieces[at : at + len(form)] == form and here[at] & place
                for form, place in of_phrase
                for at in range(len(pieces))
            )

        assert_best(wide, row, best_allowed(tiny, row, allowed))


def test_an_abandoned_phrase_must_begin_again() -> None:
    """The phrase is A B. In A A B, the second A begins it again."""
    constraints = requirements(np.array([[[A, B]]], np.int32), np.zeros(7, bool), np.array([9], np.int32))
    state = constraints.begin(1, 1)
    missing = []
    for piece in (A, A, B, C):
        state = constraints.advance(state, np.array([[piece]], np.int32), ())
        missing.append(int(constraints.missing(state)[0, 0]))
    assert missing == [1, 1, 0, 0]


def test_the_last_word_of_a_phrase_does_not_continue() -> None:
    """C continues the word before it. Without this rule A C is more probable."""
    table = chain(7, start={A: 1.0}, A={C: 0.9, EOS: 0.1}, C={EOS: 1.0})
    phrase, limits = np.array([[[A]]], np.int32), np.array([5], np.int32)
    for joins, best in [([C], [A, EOS]), ([], [A, C, EOS])]:
        constraints = requirements(phrase, np.isin(np.arange(7), joins), limits)
        method = search.SearchMethod(2, search.PhraseSelection(constraints), (constraints,))
        assert pieces(search_chain(table, [5], method)) == best


def test_constrained_hypotheses_are_distinct() -> None:
    table = chain(7, start={A: 0.4, B: 0.4, C: 0.2}, A={A: 0.5, EOS: 0.5}, B={B: 0.5, EOS: 0.5}, C={EOS: 1.0})
    constraints = requirements(np.array([[[B], [A]]], np.int32), np.zeros(7, bool), np.array([6], np.int32))
    found = search_chain(
        table, [6], search.SearchMethod(5, search.PhraseSelection(constraints), (constraints,), nbest=5)
    )
    real = [tuple(pieces(found, slot=k)) for k in range(5) if found.log_probabilities[0, k] > -1e29]
    assert len(set(real)) == len(real)


def test_a_word_goes_on_to_a_longer_form_of_the_same_phrase_alone() -> None:
    """B and C continue the word before them. A B is a form; A C, the most probable, is not. A B takes three steps."""
    table = chain(7, start={A: 1.0}, A={C: 0.6, B: 0.3, EOS: 0.1}, B={EOS: 1.0}, C={EOS: 1.0})
    joins, both, one = np.isin(np.arange(7), [B, C]), [[A, PAD], [A, B]], [[A, PAD]]
    for forms, limit, best in [(both, 5, [A, B, EOS]), (both, 3, [A, B, EOS]), (both, 2, [A, EOS]), (one, 5, [A, EOS])]:
        phrases, limits = np.zeros((1, len(forms)), np.int32), np.array([limit], np.int32)
        constraints = requirements(np.array([forms], np.int32), joins, limits, phrases)
        method = search.SearchMethod(2, search.PhraseSelection(constraints), (constraints,))
        assert pieces(search_chain(table, [limit], method)) == best
