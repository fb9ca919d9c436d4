"""Figures of a text that go with translation quality: how many words of new sentences it lacks, and its length."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from nmt.text.pairs import Pair

EVERY = 10
"""Each tenth pair counts as new text beside the pairs before and behind it."""

FIRST = 256
"""Pairs of the first `TextFigures`; the next ones have twice as many each."""

_WORD = re.compile(r"\w+|[^\w\s]")

Cut = Callable[[str], list[str]]


class TextFigures(NamedTuple):
    """Figures of a text or of its first pairs. Words are lower-cased, and punctuation is separate."""

    pairs: int
    source_unseen: float
    """Share of the source words of every tenth pair that the other pairs lack."""
    target_unseen: float
    source_words: float
    """Mean words per sentence."""
    target_words: float
    source_types: int
    """Different words."""
    target_types: int


def measure_figures(pairs: Iterable[Pair], cuts: tuple[Cut, Cut] = (str.split, str.split)) -> list[TextFigures]:
    """The figures of the first 256, 512, 1024, ... pairs and of all pairs, in one reading.

    Args:
        pairs: of the text.
        cuts: functions from a source and from a target to their words.

    Returns:
        Figures by growing number of pairs, the last ones those of the whole text; none for fewer than `EVERY` pairs.
    """
    sides, count, found = (_Side(cuts[0]), _Side(cuts[1])), 0, list[TextFigures]()
    for pair in pairs:
        for side, text in zip(sides, (pair.source, pair.target), strict=True):
            side.add(text, new=count % EVERY == 0)
        count += 1
        if count >= FIRST and count & (count - 1) == 0:
            found.append(_figures(count, *sides))
    if count >= EVERY and (not found or found[-1].pairs != count):
        found.append(_figures(count, *sides))
    return found


class _Side:
    """Counts the words of one side."""

    def __init__(self, cut: Cut) -> None:
        self._cut, self._seen, self._new = cut, set[str](), Counter[str]()
        self.words = 0

    def add(self, text: str, new: bool) -> None:
        words = [part for word in self._cut(text.lower()) for part in _WORD.findall(word)]
        self.words += len(words)
        self._new.update(words) if new else self._seen.update(words)

    @property
    def unseen(self) -> float:
        """The share of the new words that no other pair has; half a word is added, so that no share is 0."""
        unseen = sum(count for word, count in self._new.items() if word not in self._seen)
        return (unseen + 0.5) / (self._new.total() + 1)

    @property
    def types(self) -> int:
        return len(self._seen | self._new.keys())


def _figures(pairs: int, source: _Side, target: _Side) -> TextFigures:
    return TextFigures(
        pairs,
        source.unseen,
        target.unseen,
        source.words / pairs,
        target.words / pairs,
        source.types,
        target.types,
    )
