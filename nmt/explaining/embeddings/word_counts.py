"""How often pieces and whole words occur in a training text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.batches.arrays import Sequences
from nmt.explaining.embeddings.errors import EmbeddingError

RARE = 20
"""A word that occurs fewer times than this has a vector that means little."""

_SENTENCES_PER_BLOCK = 100_000  # bounds the memory that counting takes, whatever the size of the corpus


class _Block(NamedTuple):
    """The pieces of many sentences, one sentence after the other."""

    ids: NDArray[np.int64]
    """[pieces]."""
    sentence_edges: NDArray[np.bool_]
    """[pieces + 1]: whether a sentence begins or ends before each piece, and after the last."""
    word_edges: NDArray[np.bool_]
    """[pieces + 1]: whether a word begins or ends there."""


class WordCounts:
    """How often pieces and words occur in a text of ids. An epoch reads the text once, so each occurrence counts once.

    The end of a word is an estimate: a word ends where the next piece begins a word, or is not a letter of a script
    with upper and lower case (see `Tokenizer.joins`).

    Args:
        texts: the sides of the training text.
        joins: for each piece of the vocabulary, whether the piece continues the word before it.

    Raises:
        EmbeddingError: the text has ids beyond the vocabulary.
    """

    def __init__(self, texts: Sequence[Sequences], joins: Sequence[bool]) -> None:
        self._texts, self._joins = texts, np.asarray(joins, bool)
        self.pieces = np.zeros(len(joins), np.int64)
        """[vocabulary]: occurrences of each piece, those inside longer words included."""
        self.whole_words = np.zeros(len(joins), np.int64)
        """[vocabulary]: occurrences of each piece as a whole word."""
        for ids, _, edges in self._blocks(texts):
            self.pieces += np.bincount(ids, minlength=len(joins))
            self.whole_words += np.bincount(ids[edges[:-1] & edges[1:]], minlength=len(joins))

    def of_word(self, ids: Sequence[int]) -> list[int]:
        """How often these pieces occur in this order as a word, or as the words of a phrase, in each text."""
        return [self._in_text(text, ids) for text in self._texts]

    def _in_text(self, words: Sequences, ids: Sequence[int]) -> int:
        count, last = 0, len(ids) - 1
        for text, sentence_edges, word_edges in self._blocks([words]):
            starts = max(len(text) - last, 0)  # positions at which the whole word fits
            found = word_edges[:starts] & word_edges[last + 1 :]
            for offset, piece in enumerate(ids):
                found &= text[offset : offset + starts] == piece
                if offset:
                    found &= ~sentence_edges[offset : offset + starts]
            count += int(found.sum())
        return count

    def _blocks(self, texts: Sequence[Sequences]) -> Iterator[_Block]:
        for text in texts:
            for begin in range(0, len(text), _SENTENCES_PER_BLOCK):
                offsets = text.offsets[begin : begin + _SENTENCES_PER_BLOCK + 1]
                ids = np.asarray(text.ids[offsets[0] : offsets[-1]], np.int64)
                if ids.size and ids.max() >= len(self._joins):
                    raise EmbeddingError(
                        f"the training text has piece {ids.max()}, the vocabulary {len(self._joins)} pieces: "
                        "they belong to different runs"
                    )
                sentence_edges = np.zeros(len(ids) + 1, bool)
                sentence_edges[offsets - offsets[0]] = True
                word_edges = sentence_edges.copy()
                word_edges[:-1] |= ~self._joins[ids]
                yield _Block(ids, sentence_edges, word_edges)
