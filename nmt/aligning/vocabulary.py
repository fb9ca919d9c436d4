"""The words that an aligner knows, by frequency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from nmt.errors import NmtError
from nmt.text.languages import SPACED, Words
from nmt.text.pieces import PAD, UNK
from nmt.text.tokenizer import SegmentedSentence

FIRST = max(PAD, UNK) + 1
"""The id of the most frequent word."""
PUNCTUATION = '.,;:!?…"“”„«»()[]{}¿¡'
"""Marks that stand next to a word without being a part of it; an apostrophe is a part, as in l'."""
MOST_COUNTED = 2**20
"""Different words that are counted at once; beyond it the rare ones are forgotten, so that memory stays bounded."""


class WordVocabulary:
    """Ids of words, most frequent first; all other words share the id UNK.

    Case does not count, nor does punctuation around a word, so that text needs no tokenizer.

    Args:
        words: in the order of their ids, from `FIRST` on.
        cut: cuts a sentence into words.
    """

    def __init__(self, words: Sequence[str], cut: Words = SPACED) -> None:
        self.words, self.cut = tuple(words), cut
        self._ids = {word: number for number, word in enumerate(self.words, start=FIRST)}

    @property
    def size(self) -> int:
        """Number of ids: all ids are below it."""
        return FIRST + len(self.words)

    def segment(self, sentence: str) -> SegmentedSentence:
        """The words of a sentence, each one unit, with their ids."""
        return self.segment_words(self.cut(sentence))._replace(text=sentence)

    def segment_words(self, words: Sequence[str]) -> SegmentedSentence:
        """A sentence that is already cut into words."""
        ids = [self._ids.get(_form(word), UNK) for word in words]
        return SegmentedSentence(" ".join(words), list(words), ids, list(range(len(words))))

    def stems(self, letters: int) -> NDArray[np.int64]:
        """For each id the number of its stem: its first letters, which most forms of a word share, [size]."""
        numbers: dict[str, int] = {}
        found = [numbers.setdefault(word[:letters], FIRST + len(numbers)) for word in self.words]
        return np.array([*range(FIRST), *found], np.int64)

    def to_bytes(self) -> bytes:
        """A word per line, in the order of their ids."""
        return "".join(f"{word}\n" for word in self.words).encode()

    @classmethod
    def from_bytes(cls, content: bytes, cut: Words, where: str) -> WordVocabulary:
        """Inverse of `to_bytes`.

        Raises:
            NmtError: the content is not UTF-8, or has a word twice.
        """
        try:
            words = content.decode("utf-8").split("\n")[:-1]
        except UnicodeDecodeError:
            words = ["", ""]
        if len(set(words)) < len(words):
            raise NmtError(f"{where}: damaged: expected a word per line, each word once; train the aligner again")
        return cls(words, cut)


def _form(word: str) -> str:
    """The word as it is counted: in lower case, without punctuation around it."""
    lower = word.lower()
    return lower.strip(PUNCTUATION) or lower


class WordCounter:
    """Counts words in bounded memory (lossy counting, Manku and Motwani 2002).

    Whenever more than `MOST_COUNTED` different words are counted, all words seen least often are forgotten. A word that
    may have been forgotten before counts as often as it can have occurred.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._forgotten = 0

    def add(self, words: Iterable[str]) -> None:
        """Counts the words of a sentence."""
        if self._forgotten:
            for word in map(_form, words):
                self._counts[word] = self._counts.get(word, self._forgotten) + 1
        else:  # faster, while nothing is forgotten
            self._counts.update(map(_form, words))
        while len(self._counts) > MOST_COUNTED:
            self._forgotten += 1
            self._counts = Counter({word: n for word, n in self._counts.items() if n > self._forgotten})

    def most_frequent(self, size: int) -> list[str]:
        """The most frequent words, at most `size`; words of equal frequency in the order of their first occurrence."""
        return [word for word, _ in self._counts.most_common(size)]
