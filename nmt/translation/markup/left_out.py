"""Words of a marked text that the model has not read or written: numbers and placeholders that it does not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nmt.translation.result import Translation


class LeftOut(NamedTuple):
    """A word that an alignment lacks."""

    before: int
    """The number of the word that it stands before."""
    item: int
    """Its place in the markup of the source."""
    raw: str


def with_left_out(translation: Translation, source: Sequence[LeftOut], target: Sequence[LeftOut]) -> Translation:
    """A translation whose alignment also has these words, so that links count the words of both texts.

    A number is linked to itself, and no other word attends to it. So is a placeholder. Empty words are dropped.
    """
    alignment = translation.alignment
    if not source and not target and all(alignment.source) and all(alignment.target):
        return translation
    ours, theirs = _Merged(alignment.source, source), _Merged(alignment.target, target)
    weights = np.zeros((len(theirs.words), len(ours.words)), np.float32)
    weights[np.ix_(theirs.places, ours.places)] = alignment.weights[np.ix_(theirs.kept, ours.kept)]
    rest = np.zeros(len(theirs.words), np.float32)
    rest[theirs.places] = alignment.end_of_sentence[theirs.kept]
    links = {(ours.new[s], theirs.new[t]) for s, t in alignment.links if s in ours.new and t in theirs.new}
    links |= {(place, theirs.added[item]) for item, place in ours.added.items() if item in theirs.added}
    given, values = translation.word_log_probabilities, np.zeros(len(theirs.words))
    if given:
        values[theirs.places] = np.array(given)[theirs.kept]
    return replace(
        translation,
        alignment=replace(
            alignment,
            source=tuple(ours.words),
            target=tuple(theirs.words),
            weights=weights,
            end_of_sentence=rest,
            links=frozenset(links),
        ),
        word_log_probabilities=tuple(values.tolist()) if given else (),
    )


class _Merged:
    """The words of a side, and the left-out words between them.

    Args:
        words: that the model has read or written.
        left_out: the other words.
    """

    def __init__(self, words: Sequence[str], left_out: Sequence[LeftOut]) -> None:
        self.words: list[str] = []
        self.new: dict[int, int] = {}
        """The new number of each word that stays."""
        self.added: dict[int, int] = {}
        """The number of each added word, by its item."""
        waiting = sorted(left_out)
        for number in range(len(words) + 1):
            while waiting and waiting[0].before <= number:
                self.added[waiting[0].item] = len(self.words)
                self.words.append(waiting.pop(0).raw)
            if number < len(words) and words[number]:
                self.new[number] = len(self.words)
                self.words.append(words[number])
        self.kept, self.places = list(self.new), list(self.new.values())
