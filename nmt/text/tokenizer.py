"""Subword vocabularies: SentencePiece models with fixed special ids, and the word that each piece belongs to.

Words are separated by whitespace as in `str.split()`. SentencePiece sees text with single spaces between words. So
every kind of Unicode whitespace separates words for both.
"""

from __future__ import annotations

import hashlib
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sentencepiece

from nmt.config import VocabularyConfig
from nmt.files.atomic_writing import write_atomically
from nmt.text.errors import VocabularyError
from nmt.text.pieces import BOS, EOS, PAD, SPACE, UNK
from nmt.text.sentencepiece_training import train_model


class SegmentedSentence(NamedTuple):
    """A sentence as words and as pieces."""

    text: str
    words: list[str]
    """`text.split()`, or the beginning of it."""
    ids: list[int]
    """The piece ids."""
    word_of_piece: list[int]
    """For each piece the index of its word in `words`, in ascending order."""
    cut: bool = False
    """Whether `cut_words` removed the end; `text` is still whole."""


def cut_words(sentence: SegmentedSentence, limit: int) -> SegmentedSentence:
    """The beginning of a sentence: at most `limit` pieces and at most `limit` words. Its text stays whole.

    Words behind the last piece are removed too. One piece can cover many words, so both numbers are limited: the memory
    of an alignment grows with the words of both sides.
    """
    if len(sentence.ids) <= limit and len(sentence.words) <= limit:
        return sentence
    pieces = min(limit, bisect_left(sentence.word_of_piece, limit))
    words = sentence.word_of_piece[pieces - 1] + 1 if 0 < pieces < len(sentence.ids) else limit
    return sentence._replace(
        words=sentence.words[:words],
        ids=sentence.ids[:pieces],
        word_of_piece=sentence.word_of_piece[:pieces],
        cut=True,
    )


class Tokenizer:
    """A SentencePiece model, made by `train` or `load`.

    Raises:
        VocabularyError: `model` is not a SentencePiece model with special ids PAD 0, UNK 1, BOS 2, EOS 3.
    """

    def __init__(self, model: bytes, name: str = "vocabulary") -> None:
        self._model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor.from_proto(model)
        except RuntimeError:
            raise VocabularyError(f"{name}: not a SentencePiece model, or a damaged one; train it again") from None
        special = tuple(getattr(self._processor, f"{kind}_id")() for kind in ("pad", "unk", "bos", "eos"))
        if special != (PAD, UNK, BOS, EOS):
            raise VocabularyError(f"{name}: ids of <pad> <unk> <s> </s> are {special}, expected {(PAD, UNK, BOS, EOS)}")

    @classmethod
    def train(cls, sentences: Iterable[str], config: VocabularyConfig, size: int = 0) -> Tokenizer:
        """Trains a model. Equal sentences in equal order give equal bytes on any machine.

        From more than two million sentences a fixed random sample of two million is used. Characters beyond
        `config.character_coverage` become UNK. A char or word model keeps the most frequent pieces, at most `size`.

        Args:
            sentences: a stream that is read once; its errors are raised unchanged.
            config: kind of model, normalisation, symbols.
            size: number of pieces, special pieces included; 0: `config.size`.

        Raises:
            VocabularyError: no text, more or fewer pieces than the text allows, or unusable symbols.
        """
        return cls(train_model(map(_single_spaced, sentences), config, size or config.size))

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Reads a file that `save` wrote.

        Raises:
            VocabularyError: the file is missing, damaged or has other special ids.
        """
        try:
            return cls(Path(path).read_bytes(), str(path))
        except OSError as error:
            raise VocabularyError(f"{path}: {error.strerror}: expected a SentencePiece model") from None

    def save(self, path: str | Path) -> None:
        """Writes the SentencePiece model, readable by any SentencePiece."""
        write_atomically(Path(path), self._model)

    @property
    def size(self) -> int:
        """Number of pieces, special pieces included: all ids are below it."""
        return self._processor.get_piece_size()

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the model, in hexadecimal."""
        return hashlib.sha256(self._model).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self._model == other._model

    def __hash__(self) -> int:
        return hash(self._model)

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """The piece ids of each sentence, without BOS and EOS. Unknown text becomes UNK."""
        return self._processor.encode([_single_spaced(sentence) for sentence in sentences], return_type=int)

    def encode_with_surfaces(self, sentences: Sequence[str]) -> list[list[tuple[int, str]]]:
        """As `encode`, with the text that each piece stands for: normalised, with ▁ for a space.

        The surface of an unknown piece is the unknown text.
        """
        texts = [_single_spaced(sentence) for sentence in sentences]
        surfaces = self._processor.encode(texts, return_type=str)
        return [list(zip(*both, strict=True)) for both in zip(self.encode(texts), surfaces, strict=True)]

    @cached_property
    def unreadable(self) -> np.ndarray:
        """For each id, whether the piece is unknown or a single byte, of a character that the vocabulary lacks."""
        kinds = (self._processor.is_unknown, self._processor.is_byte)
        return np.array([any(kind(i) for kind in kinds) for i in range(self.size)])

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """The text of each sequence of ids, with single spaces between words; PAD, BOS and EOS have no text."""
        texts = self._processor.decode([list(sequence) for sequence in ids], return_type=str) if len(ids) else []
        return [_single_spaced(text) for text in texts]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces as SentencePiece writes them, with ▁ for a space."""
        return [self._processor.id_to_piece(int(i)) for i in ids]

    def index(self, piece: str) -> int | None:
        """The id of a piece as SentencePiece writes it; None if the vocabulary lacks the piece."""
        found = self._processor.piece_to_id(piece)
        return found if self._processor.id_to_piece(found) == piece else None

    @property
    def joins(self) -> list[bool]:
        """For each id, whether the piece continues the word before it.

        A continuing piece begins without a space, with a digit or with a letter of a script that has upper and lower
        case. Many scripts without case write no spaces.
        """
        return [unicodedata.category(piece[0]) in ("Lu", "Ll", "Nd") for piece in self.pieces(range(self.size))]

    def segment(self, sentence: str) -> SegmentedSentence:
        """The pieces of `encode` with the word of each piece.

        A word whose characters all vanish in normalisation has no piece. A piece that covers several words belongs to
        the first of them: a word model makes one piece of neighbouring unknown words.
        """
        text = _single_spaced(sentence)
        encoded = self._processor.encode(text, return_type="offset_mapping")
        origins = self._processor.normalize(text, with_offsets=True)[1]
        positions: list[int | None] = []
        start = 0  # the pieces joined are the normalised text; `origins` maps its positions to the original text
        for piece in encoded["pieces"]:
            lead = len(piece) - len(piece.lstrip(SPACE))
            positions.append(origins[start + lead] if lead < len(piece) else None)
            start += len(piece)
        return SegmentedSentence(sentence, text.split(), encoded["ids"], _words_at(positions, text))

    def join(self, ids: Sequence[int]) -> SegmentedSentence:
        """The text of `decode` with the word of each piece.

        No id is left out: a PAD, BOS or EOS has no text and belongs to the word of the next piece. If no id has text,
        all belong to word 0.
        """
        decoded = self._processor.decode([int(i) for i in ids], return_type="offset_mapping")
        text = decoded["text"]
        positions: list[int | None] = []
        for begin, end in decoded["offsets"]:
            lead = end - begin - len(text[begin:end].lstrip())
            positions.append(begin + lead if begin + lead < end else None)
        return SegmentedSentence(_single_spaced(text), text.split(), decoded["ids"], _words_at(positions, text))


def _single_spaced(sentence: str) -> str:
    return " ".join(sentence.split())


def _words_at(positions: list[int | None], text: str) -> list[int]:
    """The index of the word at each position of `text`. None takes the next known word, or else the last."""
    starts = (not here.isspace() and before.isspace() for before, here in zip(" " + text, text, strict=False))
    word_at = [count - 1 for count in accumulate(starts)]
    words: list[int] = []
    following = max((word_at[p] for p in positions if p is not None), default=0)
    for position in reversed(positions):
        following = following if position is None else word_at[position]
        words.append(following)
    return words[::-1]
