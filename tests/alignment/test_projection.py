"""Stretches of words and places between words are carried to the translation by links.

In these tests a target is text whose letters name the source words that its words belong to: a is source word 0. A word
that belongs to no source word is a dash.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from nmt.alignment.projection import Projection, Stretch, source_shares
from nmt.alignment.word_alignment import WordAlignment


def shares_of(target: str, sources: int) -> NDArray[np.float64]:
    return np.array([[float(letter == "abcdef"[s]) for s in range(sources)] for letter in target])


def projection(
    target: str, sources: int = 3, shares: dict[int, Sequence[float]] | None = None, **attention: Sequence[float]
) -> Projection:
    """`shares` replaces rows; `attention` has the attention of the target words to a source word, 0 by default."""
    of_words = shares_of(target, sources)
    for row, values in (shares or {}).items():
        of_words[row] = values
    paid = np.zeros(of_words.shape, np.float32)
    for letter, values in attention.items():
        paid[:, "abcdef".index(letter)] = values
    return Projection(of_words, paid)


def stretch(made: Projection, words: str, within: tuple[int, int] | None = None, *taken: tuple[int, int]):
    return made.stretch(
        ["abcdef".index(word) for word in words],
        Stretch(*(within or (0, made.target_words))),
        [Stretch(*one) for one in taken],
    )


@pytest.mark.parametrize(
    ("target", "words", "expected"),
    [
        ("ba", "a", (1, 2)),
        ("cab", "ab", (1, 3)),
        ("cab", "ba", (1, 3)),
        ("--aa--b", "a", (2, 4)),
        ("acb", "ab", (0, 3)),
        ("abba", "a", (0, 4)),
        ("abbba", "a", (0, 1)),
        ("a---a", "a", (0, 5)),
        ("a----a", "a", (0, 1)),
        ("abbbaa", "a", (4, 6)),
        ("bbb", "a", None),
        ("---", "a", None),
        ("ab", "", None),
    ],
)
def test_a_stretch_has_the_words_that_belong_to_it_and_a_few_between_them(target, words, expected):
    """Two parts are joined over two words of others, and over three words that belong to none."""
    assert stretch(projection(target), words) == expected


def test_source_words_that_the_alignment_lacks_belong_to_no_stretch():
    made = projection("ab", 2)
    assert made.stretch([0, 2, 5], Stretch(0, 2)) == (0, 1)
    assert made.stretch([2], Stretch(0, 2)) is None


@pytest.mark.parametrize(("share", "expected"), [(0.5, (4, 5)), (0.64, (4, 5)), (0.67, (1, 5)), (0.75, (1, 5))])
def test_a_word_of_two_counts_by_its_share(share, expected):
    """It is worth the two foreign words between from a share of 0.65 on."""
    assert stretch(projection("-abba", 2, {1: [share, 1 - share]}), "a") == expected
    assert stretch(projection("-ab", 2, {1: [share, 1 - share]}), "a") == (1, 2)


@pytest.mark.parametrize(("share", "joined"), [(0.0, False), (0.05, False), (0.15, True), (0.45, True)])
def test_a_word_of_others_counts_less_against_a_stretch_if_a_part_of_it_belongs_there(share, joined):
    between = dict.fromkeys((1, 2, 3), [share, 1 - share])
    assert stretch(projection("abbba", 2, between), "a") == ((0, 5) if joined else (0, 1))
    assert stretch(projection("bbb", 2, dict.fromkeys(range(3), [share, 1 - share])), "a") is None


def test_several_words_of_a_stretch_add_their_shares():
    made = projection("-x-", 3, {1: [0.3, 0.3, 0.4]})
    assert stretch(made, "ab") == (1, 2)
    assert stretch(made, "a") is None and stretch(made, "c") is None


def test_of_equal_words_the_one_with_more_attention_is_chosen():
    assert stretch(projection("abbba", 2, a=[0.3, 0, 0, 0, 0.4]), "a") == (4, 5)
    assert stretch(projection("abbba", 2, a=[0.4, 0, 0, 0, 0.3]), "a") == (0, 1)


def test_a_stretch_lies_within_its_part():
    made = projection("acabb")
    assert stretch(made, "a", (1, 5)) == (2, 3)
    assert stretch(made, "b", (0, 3)) is None and stretch(made, "b", (0, 4)) == (3, 4)
    assert stretch(made, "a", (2, 2)) is None


def test_without_links_attention_decides():
    made = projection("bbbb", 2, a=[0.3, 0.01, 0.2, 0.04])
    assert stretch(made, "a") == (0, 1)
    assert stretch(made, "a", (1, 4)) == (2, 3)
    assert stretch(made, "a", None, (0, 1)) == (2, 3)
    assert stretch(made, "a", None, (0, 2), (2, 3)) is None
    assert stretch(made, "a", (3, 4)) is None
    assert stretch(projection("bb", 2, a=[0.05, 0]), "a") == (0, 1)


@pytest.mark.parametrize(
    ("target", "words", "taken", "expected"),
    [
        ("abc", "abc", [(1, 2)], (0, 3)),  # contains the stretch
        ("aab", "a", [(1, 3)], (0, 1)),  # is outside
        ("baa", "a", [(0, 2)], (2, 3)),
        ("bab", "a", [(0, 3)], (1, 2)),  # is inside
        ("bab", "a", [(0, 3), (0, 1)], (1, 2)),
        ("abcb", "b", [(0, 2), (2, 4)], (1, 2)),
        ("caac", "a", [(1, 3)], (1, 3)),  # is equal
        ("caac", "a", [(1, 3), (1, 3)], (1, 3)),
        ("acca", "a", [(1, 3)], (0, 1)),  # words of others count more if a stretch has them already
        ("acaa", "a", [(1, 1)], (0, 4)),  # an empty stretch parts nothing
        ("cabc", "ab", [(0, 4), (1, 3)], (1, 3)),
    ],
)
def test_a_stretch_does_not_cross_the_taken_ones(target, words, taken, expected):
    assert stretch(projection(target), words, None, *taken) == expected


def place(made: Projection, before: int, within: tuple[int, int] | None = None, *taken: tuple[int, int], left=False):
    whole = Stretch(*(within or (0, made.target_words)))
    return made.place(before, whole, [Stretch(*one) for one in taken], left)


def test_a_place_stays_between_the_words_around_it():
    assert [place(projection("abc"), before) for before in range(4)] == [0, 1, 2, 3]
    assert [place(projection("aabbcc"), before) for before in range(4)] == [0, 2, 4, 6]
    assert [place(projection("cba"), before) for before in (0, 3)] == [0, 3]
    assert place(projection("abc"), 9) == 3


def test_the_first_of_equal_places_is_chosen():
    assert place(projection("a---b", 2), 1) == 1
    assert place(projection("---", 2), 1) == 0


def test_a_place_keeps_to_the_word_that_it_belongs_to():
    """In a translation that changes the order, it is behind the word before it or before the word behind it."""
    assert place(projection("bac"), 1) == 0
    assert place(projection("bac"), 1, left=True) == 2
    assert place(projection("acb"), 2) == 1
    assert place(projection("acb"), 2, left=True) == 3


def test_links_of_words_near_a_place_count_most():
    """Links of several words farther away run across the chosen place, rather than a link of the word beside it."""
    assert place(projection("debcaf", 6), 3) == 0
    assert place(projection("cdab", 4), 3) == 1
    assert place(projection("bcda", 4), 1, left=True) == 4


def test_a_place_lies_within_its_part():
    made = projection("abc")
    assert place(made, 1, (2, 3)) == 2 and place(made, 2, (0, 1)) == 1
    assert place(made, 0, (1, 3)) == 1 and place(made, 3, (0, 2)) == 2


def test_a_place_does_not_part_the_taken_stretches_if_it_can():
    made = projection("abc")
    assert place(made, 1, None, (0, 2)) == 0
    assert place(made, 1, None, (0, 2), left=True) == 2
    assert place(made, 1, None, (0, 1)) == place(made, 1, None, (1, 3)) == 1
    assert place(made, 1, (1, 2), (0, 3)) == 1


def alignment_of(weights: list[list[float]], end: list[float], **given: frozenset[tuple[int, int]]) -> WordAlignment:
    return WordAlignment(("a",) * len(weights[0]), ("b",) * len(weights), np.array(weights), np.array(end), **given)


def test_a_word_belongs_to_its_linked_words_in_equal_parts():
    weights, end = [[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], [0.0, 0.0, 0.0]
    found = source_shares(alignment_of(weights, end, links=frozenset({(0, 0), (1, 0), (2, 1)})))
    assert found.tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    assert source_shares(alignment_of(weights, end, links=frozenset())).tolist() == [[0.0] * 3] * 3


def test_links_that_follow_from_attention_leave_the_shares_to_it():
    """The columns hold 0.8 and the floor of 0.1. The last word attends to the end of sentence and has no link."""
    found = source_shares(alignment_of([[0.6, 0.19], [0.19, 0.6], [0.01, 0.01]], [0.21, 0.21, 0.98]))
    np.testing.assert_allclose(found, [[0.6 / 0.79, 0.19 / 0.79], [0.19 / 0.79, 0.6 / 0.79], [0.0, 0.0]], atol=1e-6)
    found = source_shares(alignment_of([[0.6, 0.2], [0.2, 0.1]], [0.2, 0.7]))
    claims = [[0.6 / 0.9, 0.2 / 0.4], [0.2 / 0.9, 0.1 / 0.4]]
    np.testing.assert_allclose(found, [np.divide(row, sum(row)) for row in claims], atol=1e-6)
