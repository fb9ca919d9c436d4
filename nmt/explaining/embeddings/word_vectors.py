"""The vectors of a vocabulary's pieces, and questions about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.explaining.embeddings.errors import EmbeddingError
from nmt.explaining.embeddings.neighbours import Neighbour, analogy_vector, nearest, unit_rows, unit_vector
from nmt.explaining.embeddings.projection import Projection, principal_axes
from nmt.explaining.embeddings.word2vec_format import read_word2vec, write_word2vec
from nmt.explaining.embeddings.word_counts import RARE, WordCounts
from nmt.run.training_pairs import has_training_pairs, sides_of, training_pairs
from nmt.text.pieces import SPECIAL_PIECES, UNK

if TYPE_CHECKING:
    from nmt.translation.translator import Translator

Floats = NDArray[np.floating[Any]]
Side = Literal["source", "target"]

_WORD_START = "▁"  # as SentencePiece writes it


class WordVector(NamedTuple):
    """A word, a phrase or a piece, and its vector."""

    text: str
    """As the caller gave it."""
    ids: tuple[int, ...]
    """The ids of its pieces."""
    pieces: tuple[str, ...]
    """Its pieces as SentencePiece writes them."""
    vector: Floats
    """The vector of its piece, or the mean over several pieces, float64 [width]."""
    piece_counts: tuple[int, ...] | None
    """Occurrences of each piece in the training text, those inside other words included; None where unknown."""
    word_count: int | None
    """Occurrences of the whole word; for a piece, its `piece_counts`. None where unknown."""
    side: Side | None = None
    """Where both sides share their vectors: the side that has the word more often. None where unknown."""

    @property
    def rare(self) -> bool:
        """Whether the word is known to occur too seldom for its vector to mean much."""
        return self.word_count is not None and self.word_count < RARE


class Embeddings:
    """The pieces of a vocabulary and their vectors.

    Args:
        pieces: as SentencePiece writes them, all different.
        vectors: [pieces, width].
        encode: gives the ids of a word's pieces; None: each word is one piece, with or without ▁ before it.
        counts: occurrences in the training text; None: unknown.

    Raises:
        EmbeddingError: the shape does not fit the pieces, a piece is empty or a duplicate, or a number is not finite.
    """

    def __init__(
        self,
        pieces: Sequence[str],
        vectors: ArrayLike,
        encode: Callable[[str], Sequence[int]] | None = None,
        counts: WordCounts | None = None,
    ) -> None:
        self.pieces, self.vectors, self.counts = list(pieces), np.asarray(vectors), counts
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.pieces):
            raise EmbeddingError(
                f"vectors have shape {list(self.vectors.shape)}: expected [{len(self.pieces)}, width], "
                "one vector for each piece"
            )
        if not np.isfinite(self.vectors).all():
            raise EmbeddingError("the vectors have numbers that are not finite: the training has gone wrong")
        self._index = {piece: index for index, piece in enumerate(self.pieces)}
        if len(self._index) != len(self.pieces) or "" in self._index:
            raise EmbeddingError("the pieces have an empty one or a duplicate")
        self._encode = encode

    @classmethod
    def of(cls, translator: Translator, side: Side | None = None) -> Embeddings:
        """The embeddings of a trained run; the embeddings of its first model where the run is an ensemble.

        Args:
            translator: the run.
            side: whose embeddings. Where both sides share one matrix, the side whose text is counted; pieces that do
                not occur in that text are no neighbours. None: both sides where they share one matrix, else the source.
        """
        run, shared = translator.run, translator.config.model.tie == "all"
        side = side or (None if shared else "source")
        tokenizer = run.target if side == "target" else run.source
        counts = None
        if has_training_pairs(run.directory, run.config):
            run.storage.require_folder("corpus")
            corpus = training_pairs(run.directory, run.config)
            corpus.require_ids(run.source.size, run.target.size)
            sides = sides_of(corpus)
            texts = {"source": [sides[0]], "target": [sides[1]], None: [*sides]}
            counts = WordCounts(texts[side], tokenizer.joins)
        pieces = tokenizer.pieces(range(tokenizer.size))
        return cls(pieces, translator.embeddings(side or "source"), lambda word: tokenizer.encode([word])[0], counts)

    @classmethod
    def read(cls, path: str | Path) -> Embeddings:
        """Reads a file that `export` wrote. Counts and the split of words into several pieces are not in the file.

        Raises:
            EmbeddingError: the file does not exist, or has another format.
        """
        return cls(*read_word2vec(path))

    def export(self, path: str | Path) -> Path:
        """Writes the pieces and their vectors in word2vec's text format (see `word2vec_format`).

        Raises:
            EmbeddingError: the file cannot be written; an earlier file of this name stays as it was.
        """
        write_word2vec(Path(path), self.pieces, self.vectors)
        return Path(path)

    def find(self, word: str, piece: bool = False) -> WordVector:
        """A word's vector: the vector of its piece, or the mean over its pieces. A phrase has the pieces of its words.

        Args:
            word: any text that the vocabulary has pieces for.
            piece: `word` is a piece as SentencePiece writes it.

        Raises:
            EmbeddingError: the vocabulary has no such piece, or no pieces for the word.
        """
        ids = self._ids(word, piece)
        piece_counts = word_count = side = None
        if self.counts is not None:
            piece_counts, in_texts = tuple(self.counts.pieces[ids].tolist()), self.counts.of_word(ids)
            word_count, side = piece_counts[0] if piece else sum(in_texts), _side_of(in_texts)
        vector = self.vectors[ids].astype(np.float64).mean(axis=0)
        return WordVector(word, tuple(ids), tuple(self.pieces[i] for i in ids), vector, piece_counts, word_count, side)

    def _ids(self, word: str, piece: bool) -> list[int]:
        if piece:
            if word not in self._index:
                raise EmbeddingError(f"'{word}' is no piece of the vocabulary; words begin with {_WORD_START}")
            return [self._index[word]]
        if self._encode is None:
            ids = [self._index[name] for name in (_WORD_START + word, word) if name in self._index][:1]
        else:
            ids = list(self._encode(word))
        if not ids or (self._encode is not None and UNK in ids):
            raise EmbeddingError(
                f"'{word}' is unknown: the vocabulary has no pieces for it; give a word as it stands in the text"
            )
        return ids

    def neighbours(self, query: str | WordVector | ArrayLike, count: int = 10, minimum: int = 1) -> list[Neighbour]:
        """The pieces whose vectors have the largest cosine with a word's vector or a given vector, nearest first.

        The word's own pieces and special pieces are left out.

        Args:
            query: a word, a result of `find`, or a vector [width].
            count: the number of neighbours.
            minimum: the occurrences that a neighbour needs, where counts are known. A piece that never occurs keeps
                the random vector that it began with.

        Raises:
            EmbeddingError: an unknown word, or a vector of length 0.
        """
        word = self.find(query) if isinstance(query, str) else query
        if isinstance(word, WordVector):
            return self._nearest(word.vector, word.ids, count, minimum, f"'{word.text}'")
        return self._nearest(np.asarray(word, np.float64), (), count, minimum, "the vector")

    def analogy(
        self, a: str | WordVector, b: str | WordVector, c: str | WordVector, count: int = 10, minimum: int = 1
    ) -> list[Neighbour]:
        """The pieces nearest to a − b + c (see `analogy_vector`), without the pieces of the three words.

        Raises:
            EmbeddingError: an unknown word, or a vector of length 0.
        """
        words = [self.find(word) if isinstance(word, str) else word for word in (a, b, c)]
        target = analogy_vector(*(unit_vector(word.vector, f"'{word.text}'") for word in words))
        without = [i for word in words for i in word.ids]
        name = "{} - {} + {}".format(*(word.text for word in words))
        return self._nearest(target, without, count, minimum, name)

    @cached_property
    def _units(self) -> Floats:
        return unit_rows(self.vectors)

    def _nearest(self, vector: Floats, without: Sequence[int], count: int, minimum: int, name: str) -> list[Neighbour]:
        if vector.shape != self.vectors.shape[1:]:
            raise EmbeddingError(f"{name} has shape {list(vector.shape)}: expected [{self.vectors.shape[1]}]")
        candidates = np.array([piece not in SPECIAL_PIECES for piece in self.pieces])
        if self.counts is not None:
            candidates &= self.counts.pieces >= minimum
        candidates[list(without)] = False
        return [
            Neighbour(self.pieces[i], cosine, None if self.counts is None else int(self.counts.pieces[i]))
            for i, cosine in nearest(self._units, unit_vector(vector, name), candidates, count)
        ]

    def frequent(self, count: int) -> list[str]:
        """The most frequent words that are one piece and contain a letter or digit, most frequent first.

        Returns:
            Pieces as SentencePiece writes them.

        Raises:
            EmbeddingError: the counts are unknown.
        """
        if self.counts is None:
            raise EmbeddingError("how often words were seen is not known, the run has no corpus/: name words instead")
        whole = self.counts.whole_words
        found = (int(i) for i in np.argsort(-whole, kind="stable") if whole[i] and _is_word(self.pieces[i]))
        return [self.pieces[i] for i in islice(found, count)]

    def project(self, words: Sequence[str | WordVector]) -> Projection:
        """These words on the first two principal axes of their own vectors (see `principal_axes`)."""
        found = [self.find(word) if isinstance(word, str) else word for word in words]
        return principal_axes([word.vector for word in found])


def _side_of(counts: Sequence[int]) -> Side | None:
    """The side with more occurrences, of a source and a target text."""
    if len(counts) != 2 or counts[0] == counts[1]:
        return None
    return "source" if counts[0] > counts[1] else "target"


def _is_word(piece: str) -> bool:
    return piece not in SPECIAL_PIECES and any(character.isalnum() for character in piece)
