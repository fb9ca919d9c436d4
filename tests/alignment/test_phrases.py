"""Phrases: words of both sides that are linked to each other and to no other word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.links import Links
from nmt.alignment.phrases import Phrase, phrases

links = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=10)


def all_phrases(found: Links, longest: int) -> set[Phrase]:
    """Every block of words, tried one after the other against the definition."""
    blocks = [(begin, end) for begin in range(6) for end in range(begin + 1, 7) if end - begin <= longest]
    return {
        Phrase(*source, *target)
        for source in blocks
        for target in blocks
        if all((source[0] <= s < source[1]) == (target[0] <= t < target[1]) for s, t in found)
        and all(any(s == edge for s, _ in found) for edge in (source[0], source[1] - 1))
        and all(any(t == edge for _, t in found) for edge in (target[0], target[1] - 1))
    }


@given(links, st.integers(1, 6))
def test_phrases_are_the_blocks_that_no_link_leaves(found, longest):
    assert sorted(phrases(found, longest)) == sorted(all_phrases(found, longest))


def test_words_in_another_order_are_one_phrase():
    """A black cat, un chat noir: the two words that change places are a phrase only together."""
    assert sorted(phrases(frozenset({(0, 0), (1, 2), (2, 1)}), 2)) == [
        (0, 1, 0, 1),
        (1, 2, 2, 3),
        (1, 3, 1, 3),
        (2, 3, 1, 2),
    ]


def test_a_word_with_two_links_takes_the_words_between_along():
    """Does not sing, ne chante pas: `not` has both negations, so it is no phrase without `sing`."""
    assert list(phrases(frozenset({(0, 0), (0, 2), (1, 1)}), 3)) == [(0, 2, 0, 3), (1, 2, 1, 2)]
    assert list(phrases(frozenset({(0, 0), (0, 2), (1, 1)}), 2)) == [(1, 2, 1, 2)]
