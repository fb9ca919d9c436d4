"""Preferred phrases: a bonus for phrases at the steps that attend to their source, on hand-drawn chains.

The record of a step is its last piece, one-hot. So source position p is attended to at the step behind piece p.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from chains import A, B, C, chain, pieces, search_chain

from nmt import search
from nmt.search.phrase_tracking import START
from nmt.search.preferred_phrases import PreferredPhrases
from nmt.text.pieces import BOS, EOS, PAD

Forms = list[tuple[int, ...]]


def preferring(
    slots: int,
    *sentences: list[tuple[Forms, int]],
    bonus: float = 3.0,
    joins: tuple[int, ...] = (),
    nbest: int = 1,
    places: int = 7,
) -> search.SearchMethod:
    """Beam search that prefers phrases: for each sentence the forms of each phrase, and its source position.

    Forms may begin at `places`, a sum of START, OPEN and CLOSED.
    """
    width = max(1, *(sum(len(forms) for forms, _ in phrases) for phrases in sentences))
    forms = np.full((len(sentences), width, 2), PAD, np.int32)
    numbers, sources = np.full((len(sentences), width), -2, np.int32), np.zeros((len(sentences), width, 7), np.float32)
    for row, phrases in enumerate(sentences):
        listed = [(number, form, at) for number, (all_forms, at) in enumerate(phrases) for form in all_forms]
        for place, (number, form, at) in enumerate(listed):
            forms[row, place, : len(form)] = form
            numbers[row, place] = number
            sources[row, place, at] = 1
    tracker = search.PhraseTracker(
        forms, numbers, np.full_like(numbers, places), np.isin(np.arange(7), joins), np.zeros(7, bool)
    )
    preferred = PreferredPhrases(tracker, sources, bonus, little=0.0, enough=0.5, late=0.0)
    select = search.PhraseSelection(None, preferred)
    return search.SearchMethod(slots, select, (preferred,), nbest=nbest, preferred=preferred)


TABLE = chain(7, start={A: 0.9, B: 0.1}, A={EOS: 0.9, B: 0.1}, B={EOS: 0.9, C: 0.1}, C={EOS: 1.0})


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize(
    ("phrases", "bonus", "best"),
    [
        ([], 3.0, [A, EOS]),
        ([([(B,)], BOS)], 3.0, [B, EOS]),  # instead of A: 3 nats outweigh ln 9
        ([([(B,)], BOS)], 2.0, [A, EOS]),  # 2 nats do not
        ([([(B,)], A)], 3.0, [A, B, EOS]),  # the source is attended to behind A
        ([([(B,)], C)], 3.0, [A, EOS]),  # never
        ([([(C,), (B, C)], BOS)], 8.0, [B, C, EOS]),  # C cannot begin a sentence
        ([([(B, A)], BOS)], 8.0, [A, EOS]),  # A never follows B
    ],
)
def test_a_bonus_counts_where_the_source_is_attended_to(slots, phrases, bonus, best):
    """A beam keeps the hypotheses that greedy search would lose at the last case."""
    found = search_chain(TABLE, [5], preferring(slots, phrases, bonus=bonus))
    if slots == 1 and phrases == [([(B, A)], BOS)]:
        assert pieces(found) == [B, EOS]  # the first piece took the bonus, and nothing goes back
    else:
        assert pieces(found) == best


def test_log_probabilities_have_no_bonus_and_scores_have():
    found = search_chain(TABLE, [5], preferring(2, [([(B,)], BOS)]))
    expected = math.log(0.1) + math.log(0.9)
    assert found.log_probabilities[0, 0] == pytest.approx(expected)
    assert found.piece_log_probabilities[0, 0].sum() == pytest.approx(expected)
    assert found.scores[0, 0] == pytest.approx(expected + 3.0)


def test_sentences_without_phrases_are_searched_as_without_a_bonus():
    both = np.repeat(TABLE, 2, axis=0)
    plain = search_chain(both, [5, 5], search.SearchMethod(3, nbest=3))
    found = search_chain(both, [5, 5], preferring(3, [([(B,)], BOS)], [], nbest=3))
    for field in search.SearchResult._fields:
        np.testing.assert_array_equal(getattr(found, field)[1], getattr(plain, field)[1])
    assert pieces(found) != pieces(plain)


@pytest.mark.parametrize(("forms", "best"), [([(B,)], [A, EOS]), ([(B,), (B, C)], [B, C, EOS])])
def test_a_word_that_goes_on_behind_a_phrase_loses_the_bonus(forms, best):
    """C continues the word, and always follows B."""
    table = chain(7, start={A: 0.9, B: 0.1}, A={EOS: 1.0}, B={C: 1.0}, C={EOS: 1.0})
    assert pieces(search_chain(table, [5], preferring(2, [(forms, BOS)], joins=(C,)))) == best


@pytest.mark.parametrize("slots", [1, 2])
def test_the_steps_of_a_longer_sentence_change_no_score(slots):
    """A finished hypothesis waits. Its last piece, EOS, would attend to the source of the phrase that it lacks."""
    longer = chain(7, start={A: 1.0}, A={B: 1.0}, B={C: 1.0}, C={EOS: 1.0})
    phrases = [([(C,)], EOS)]
    alone = search_chain(TABLE, [5], preferring(slots, phrases, places=START))
    together = search_chain(np.concatenate([TABLE, longer]), [5, 5], preferring(slots, phrases, [], places=START))
    assert together.lengths[1, 0] > alone.lengths[0, 0]
    assert together.scores[0, 0] == alone.scores[0, 0] == pytest.approx(alone.log_probabilities[0, 0])


def test_a_phrase_counts_once_for_each_time_it_is_preferred():
    """Two terms with the same translation: the second B is worth a bonus only if both terms occur."""
    table = chain(7, start={A: 0.9, B: 0.1}, A={EOS: 1.0}, B={B: 0.1, EOS: 0.9})
    once = [([(B,)], BOS)]
    twice = [([(B,)], BOS), ([(B,)], B)]
    assert pieces(search_chain(table, [5], preferring(2, once))) == [B, EOS]
    assert pieces(search_chain(table, [5], preferring(2, twice))) == [B, B, EOS]


def test_a_required_phrase_takes_its_preferred_place():
    """B must occur. Before A it is more probable; its source is attended to behind A."""
    table = chain(7, start={A: 0.7, B: 0.3}, A={EOS: 0.9, B: 0.1}, B={EOS: 0.5, A: 0.5})
    method = preferring(3, [([(B,)], A)])
    constraints = search.Constraints(method.preferred.tracker, np.array([5], np.int32))
    for preferred, best in [(None, [B, EOS]), (method.preferred, [A, B, EOS])]:
        restrictions = (constraints, preferred) if preferred else (constraints,)
        select = search.PhraseSelection(constraints, preferred)
        found = search_chain(table, [5], search.SearchMethod(3, select, restrictions, preferred=preferred))
        assert pieces(found) == best
