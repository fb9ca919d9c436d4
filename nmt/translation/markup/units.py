"""Words in parts: marks before a word, the word itself, and marks behind it.

A tag may enclose a word without the comma behind it, so marks are units of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nmt.alignment.projection import Projection, source_shares
from nmt.alignment.word_alignment import WordAlignment

_PARTS = re.compile(r"^((?:[^\w'’]|_)*)(.*?)((?:[^\w'’]|_)*)$", re.DOTALL)
"""An apostrophe is a letter of its word, as in `m'` and `'s`."""


class Unit(NamedTuple):
    """A word, or the marks before or behind it."""

    begin: int
    """Place of its first character in the text."""
    end: int
    word: int
    part: int
    """-1: marks before the word, 0: the word, 1: marks behind the word."""


def units_of(text: str, words: Sequence[str]) -> list[Unit]:
    """The units of a text.

    Args:
        words: occur in the text in this order; the text behind the last has no units.
    """
    found: list[Unit] = []
    place = 0
    for number, word in enumerate(words):
        begin = text.find(word, place)
        if begin < 0 or not word:
            continue
        place = begin + len(word)
        match = _PARTS.match(word)
        assert match is not None
        if not match[2]:
            found.append(Unit(begin, place, number, 0))
            continue
        for part, group in ((-1, 1), (0, 2), (1, 3)):
            if match[group]:
                found.append(Unit(begin + match.start(group), begin + match.end(group), number, part))
    return found


def project_units(
    alignment: WordAlignment, source: Sequence[Unit], target: Sequence[Unit], texts: tuple[str, str]
) -> Projection:
    """The projection between units.

    Linked words have linked marks, if both have marks. A mark that is a word of its own is linked to the marks of the
    words that it is linked to, such as the full stop of `garden .` to the one of `jardin.`

    Args:
        alignment: of the words.
        source, target: the units of both sides.
        texts: of both sides.
    """
    by_word: tuple[dict[int, list[int]], dict[int, list[int]]] = ({}, {})
    for places, units in zip(by_word, (source, target), strict=True):
        for place, unit in enumerate(units):
            places.setdefault(unit.word, []).append(place)
    marks: dict[int, set[int]] = {}
    for s, t in alignment.links:
        for i, j in _matching(by_word[0].get(s, []), source, texts[0], by_word[1].get(t, []), target, texts[1]):
            marks.setdefault(j, set()).add(i)
    word_shares = source_shares(alignment)
    shares = np.zeros((len(target), len(source)))
    attention = np.zeros(shares.shape, np.float32)
    for row, to in enumerate(target):
        linked = sorted(marks.get(row, ()))
        if to.part or any(source[i].part for i in linked):
            shares[row, linked] = 1 / max(len(linked), 1)
            continue
        for column, unit in enumerate(source):
            if unit.part == 0:
                shares[row, column] = word_shares[to.word, unit.word]
                attention[row, column] = alignment.weights[to.word, unit.word]
    return Projection(shares, attention)


def _matching(
    ours: Sequence[int], source: Sequence[Unit], text: str, theirs: Sequence[int], target: Sequence[Unit], other: str
) -> list[tuple[int, int]]:
    """The links between the units of two linked words."""
    same = [(i, j) for i in ours for j in theirs if source[i].part == target[j].part]
    marks = (
        [_is_mark(text, source[i]) and source[i].part == 0 for i in ours],
        [_is_mark(other, target[j]) and target[j].part == 0 for j in theirs],
    )
    if any(marks[0]) == any(marks[1]):
        return same
    alike = [
        (i, j)
        for i in ours
        for j in theirs
        if text[source[i].begin : source[i].end] == other[target[j].begin : target[j].end]
    ]
    return alike or same


def _is_mark(text: str, unit: Unit) -> bool:
    return not any(map(str.isalnum, text[unit.begin : unit.end]))
