"""Preferred phrases: they replace pieces at the steps that attend to their source, on hand-drawn chains.

The record of a step is its last piece, one-hot. So source position p is attended to at the step behind piece p.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from chains import A, B, C, chain, pieces, search_chain

from nmt import search
from nmt.search.phrase_tracking import START
from nmt.search.preferred_phrases import PreferredPhrases
from nmt.text.pieces import BOS, EOS, PAD


class Phrase(NamedTuple):
    """A phrase with its place: a source position, and the piece that it replaces."""

    forms: list[tuple[int, ...]]
    source: int
    replaced: int


def preferring(
    slots: int,
    *sentences: list[Phrase],
    bonus: float = 3.0,
    joins: tuple[int, ...] = (),
    nbest: int = 1,
    places: int = 7,
) -> search.SearchMethod:
    """Beam search that prefers the phrases of each sentence.

    Args:
        places: where forms may begin, a sum of START, OPEN and CLOSED.
    """
    width = max(1, *(sum(len(phrase.forms) for phrase in phrases) for phrases in sentences))
    shape = len(sentences), width
    forms, sources = np.full((*shape, 2), PAD, np.int32), np.zeros((*shape, 7), np.float32)
    numbers, replaced = np.full(shape, -2, np.int32), np.full(shape, PAD, np.int32)
    for row, phrases in enumerate(sentences):
        listed = [(number, form, phrase) for number, phrase in enumerate(phrases) for form in phrase.forms]
        for column, (number, form, phrase) in enumerate(listed):
            forms[row, column, : len(form)] = form
            numbers[row, column], replaced[row, column] = number, phrase.replaced
            sources[row, column, phrase.source] = 1
    tracker = search.PhraseTracker(
        forms, numbers, np.full_like(numbers, places), np.isin(np.arange(7), joins), np.zeros(7, bool)
    )
    words = np.where(replaced == EOS, PAD, replaced)  # the end of a sentence is no word
    preferred = PreferredPhrases(tracker, replaced, words, sources, np.full(shape, 0.5, np.float32), bonus)
    select = search.PhraseSelection(None, preferred)
    return search.SearchMethod(slots, select, (preferred,), nbest=nbest, preferred=preferred)


TABLE = chain(7, start={A: 0.9, B: 0.1}, A={EOS: 0.9, B: 0.1}, B={EOS: 0.9, C: 0.1}, C={EOS: 1.0})


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize(
    ("phrase", "bonus", "best"),
    [
        (None, 3.0, [A, EOS]),
        (Phrase([(B,)], BOS, A), 0.1, [B, EOS]),  # at the price of A
        (Phrase([(B,)], BOS, C), 3.0, [A, EOS]),  # C is impossible there
        (Phrase([(B,)], BOS, PAD), 3.0, [A, EOS]),  # replaces nothing
        (Phrase([(B,)], A, EOS), 3.0, [A, B, EOS]),  # the source is attended to behind A
        (Phrase([(B,)], C, A), 3.0, [A, EOS]),  # never
        (Phrase([(C,), (B, C)], BOS, A), 0.1, [B, C, EOS]),  # C cannot begin a sentence, and costs nothing behind B
        (Phrase([(B, A)], BOS, A), 3.0, [A, EOS]),  # A never follows B
    ],
)
def test_a_phrase_replaces_a_piece_where_its_source_is_attended_to(slots, phrase, bonus, best):
    """A beam keeps the hypotheses that greedy search would lose at the last case."""
    found = search_chain(TABLE, [5], preferring(slots, [phrase] if phrase else [], bonus=bonus))
    if slots == 1 and phrase and phrase.forms == [(B, A)]:
        assert pieces(found) == [B, EOS]  # the first piece was taken, and nothing goes back
    else:
        assert pieces(found) == best


def test_a_score_has_the_price_and_the_bonus_and_a_log_probability_has_not():
    found = search_chain(TABLE, [5], preferring(2, [Phrase([(B,)], BOS, A)]))
    expected = math.log(0.1) + math.log(0.9)
    assert found.log_probabilities[0, 0] == pytest.approx(expected)
    assert found.piece_log_probabilities[0, 0].sum() == pytest.approx(expected)
    assert found.scores[0, 0] == pytest.approx(math.log(0.9) + math.log(0.9) + 3.0)


def test_a_phrase_that_is_more_probable_than_the_replaced_piece_keeps_its_own_price():
    table = chain(7, start={A: 0.2, B: 0.8}, A={EOS: 1.0}, B={EOS: 1.0})
    found = search_chain(table, [5], preferring(2, [Phrase([(B,)], BOS, A)]))
    assert found.scores[0, 0] == pytest.approx(math.log(0.8) + 3.0)


def test_forms_keep_the_difference_of_their_probabilities():
    """B and C are forms of one phrase. The price of A is that of B, which is more probable, and C costs its own."""
    table = chain(7, start={A: 0.9, B: 0.08, C: 0.02}, B={EOS: 0.5, A: 0.5}, C={EOS: 1.0})
    for slots in (1, 3):
        found = search_chain(table, [5], preferring(slots, [Phrase([(C,), (B,)], BOS, A)]))
        assert pieces(found) == [B, EOS]
        assert found.scores[0, 0] == pytest.approx(math.log(0.9) + math.log(0.5) + 3.0)
    table = chain(7, start={A: 0.9, B: 0.08, C: 0.02}, B={EOS: 0.2, A: 0.8}, C={EOS: 1.0})
    found = search_chain(table, [5], preferring(3, [Phrase([(C,), (B,)], BOS, A)]))
    assert pieces(found) == [C, EOS]  # 0.25 of the price for C, and 0.2 for the end behind B
    assert found.scores[0, 0] == pytest.approx(math.log(0.9 * 0.25) + 3.0)


def test_longer_forms_keep_the_difference_of_their_continuations():
    """B A and B C are forms of one phrase; behind B, A is four times as probable as C."""
    table = chain(7, start={A: 0.9, B: 0.1}, B={A: 0.4, C: 0.1, EOS: 0.5}, A={EOS: 1.0}, C={EOS: 1.0})
    for forms in ([(B, A), (B, C)], [(B, C), (B, A)]):
        found = search_chain(table, [5], preferring(3, [Phrase(forms, BOS, A)], nbest=3))
        assert pieces(found) == [B, A, EOS]
        assert found.scores[0, 0] == pytest.approx(math.log(0.9) + 3.0)
        assert found.scores[0, 1] == pytest.approx(math.log(0.9 * 0.25) + 3.0)


@pytest.mark.parametrize("slots", [1, 3])
def test_a_short_form_is_compared_with_the_whole_of_a_longer_one(slots):
    """B begins more often than C, but hardly ever goes on with A: C is 33 times as probable as B A."""
    table = chain(7, start={A: 0.6, B: 0.3, C: 0.1}, B={A: 0.01, EOS: 0.99}, A={EOS: 1.0}, C={EOS: 1.0})
    for forms in ([(C,), (B, A)], [(B, A), (C,)]):
        found = search_chain(table, [5], preferring(slots, [Phrase(forms, BOS, A)]))
        if slots == 1:  # nothing goes back: B was the better beginning
            assert pieces(found) == [B, A, EOS]
        else:
            assert pieces(found) == [C, EOS]
            assert found.scores[0, 0] == pytest.approx(math.log(0.6) + 3.0)
    longer = search_chain(table, [5], preferring(3, [Phrase([(C,), (B, A)], BOS, A)], nbest=3))
    (place,) = [place for place in range(3) if longer.tokens[0, place, :2].tolist() == [B, A]]
    assert longer.scores[0, place] == pytest.approx(math.log(0.6 * 0.003 / 0.1) + 3.0)
    alone = search_chain(table, [5], preferring(3, [Phrase([(B, A)], BOS, A)]))
    assert pieces(alone) == [B, A, EOS] and alone.scores[0, 0] == pytest.approx(math.log(0.6) + 3.0)


def test_sentences_with_other_numbers_of_forms_are_searched_as_alone():
    table = chain(7, start={A: 0.7, B: 0.2, C: 0.1}, A={C: 0.6, B: 0.3, A: 0.1}, B={C: 0.5, EOS: 0.5}, C={EOS: 1.0})
    sentences = [
        [Phrase([(C,), (B,)], BOS, A), Phrase([(A,), (B, C), (B, A)], A, C)],
        [],
        [Phrase([(B, C)], BOS, A)],
    ]
    both = search_chain(np.repeat(table, 3, axis=0), [5] * 3, preferring(3, *sentences, nbest=3))
    for row, phrases in enumerate(sentences):
        alone = search_chain(table, [5], preferring(3, phrases, nbest=3))
        np.testing.assert_array_equal(both.tokens[row], alone.tokens[0])
        np.testing.assert_allclose(both.scores[row], alone.scores[0], rtol=1e-6)


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_the_replaced_word_does_not_stand_behind_its_phrase(slots):
    """The step behind B attends to the source of the phrase too, and the model would write A there."""
    table = chain(7, start={A: 0.9, B: 0.1}, B={A: 0.9, EOS: 0.1}, A={EOS: 1.0})
    method = preferring(slots, [Phrase([(B,)], BOS, A)])
    method.preferred.sources[0, 0, B] = 1
    assert pieces(search_chain(table, [5], method)) == [B, EOS]
    method.preferred.words[0, 0] = PAD  # A begins other words too
    assert pieces(search_chain(table, [5], method)) == [B, A, EOS]
    method.preferred.words[0, 0] = A
    method.preferred.sources[0, 0, B] = 0
    assert pieces(search_chain(table, [5], method)) == [B, A, EOS]


def test_sentences_without_phrases_are_searched_as_without_a_bonus():
    both = np.repeat(TABLE, 2, axis=0)
    plain = search_chain(both, [5, 5], search.SearchMethod(3, nbest=3))
    found = search_chain(both, [5, 5], preferring(3, [Phrase([(B,)], BOS, A)], [], nbest=3))
    for field in search.SearchResult._fields:
        np.testing.assert_array_equal(getattr(found, field)[1], getattr(plain, field)[1])
    assert pieces(found) != pieces(plain)


@pytest.mark.parametrize(("forms", "best"), [([(B,)], [A, EOS]), ([(B,), (B, C)], [B, C, EOS])])
def test_a_word_that_goes_on_behind_a_phrase_loses_price_and_bonus(forms, best):
    """C continues the word, and always follows B."""
    table = chain(7, start={A: 0.9, B: 0.1}, A={EOS: 1.0}, B={C: 1.0}, C={EOS: 1.0})
    assert pieces(search_chain(table, [5], preferring(2, [Phrase(forms, BOS, A)], joins=(C,)))) == best


def test_greedy_search_ends_the_word_of_a_phrase():
    """C, which continues the word, is the most probable piece behind B."""
    table = chain(7, start={A: 0.9, B: 0.1}, A={EOS: 1.0}, B={C: 0.9, EOS: 0.1}, C={EOS: 1.0})
    assert pieces(search_chain(table, [5], preferring(1, [Phrase([(B,)], BOS, A)], joins=(C,)))) == [B, EOS]


@pytest.mark.parametrize("slots", [1, 2])
def test_the_steps_of_a_longer_sentence_change_no_score(slots):
    """A finished hypothesis waits. Its last piece, EOS, attends to the source of the phrase that it lacks."""
    longer = chain(7, start={A: 1.0}, A={B: 1.0}, B={C: 1.0}, C={EOS: 1.0})
    table = TABLE.copy()
    table[:, [EOS, PAD], A] = 0.0  # the price of the phrase
    phrases = [Phrase([(C,)], EOS, A)]
    alone = search_chain(table, [5], preferring(slots, phrases, places=START))
    together = search_chain(np.concatenate([table, longer]), [5, 5], preferring(slots, phrases, [], places=START))
    assert together.lengths[1, 0] > alone.lengths[0, 0]
    assert together.scores[0, 0] == alone.scores[0, 0] == pytest.approx(alone.log_probabilities[0, 0])


def test_a_phrase_counts_once_for_each_time_it_is_preferred():
    """Two terms with the same translation: the second B is worth a bonus only if both terms occur."""
    table = chain(7, start={A: 0.9, B: 0.1}, A={EOS: 1.0}, B={B: 0.1, EOS: 0.9})
    first, second = Phrase([(B,)], BOS, A), Phrase([(B,)], B, EOS)
    assert pieces(search_chain(table, [5], preferring(2, [first]))) == [B, EOS]
    assert pieces(search_chain(table, [5], preferring(2, [first, second]))) == [B, B, EOS]


def test_a_required_phrase_takes_its_preferred_place():
    """B must occur. Before A it is more probable; its source is attended to behind A."""
    table = chain(7, start={A: 0.7, B: 0.3}, A={C: 0.9, B: 0.1}, B={EOS: 0.5, A: 0.5}, C={EOS: 1.0})
    method = preferring(3, [Phrase([(B,)], A, C)])
    constraints = search.Constraints(method.preferred.tracker, np.array([5], np.int32))
    for preferred, best in [(None, [B, EOS]), (method.preferred, [A, B, EOS])]:
        restrictions = (constraints, preferred) if preferred else (constraints,)
        select = search.PhraseSelection(constraints, preferred)
        found = search_chain(table, [5], search.SearchMethod(3, select, restrictions, preferred=preferred))
        assert pieces(found) == best
