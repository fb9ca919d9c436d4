"""Subword vocabularies: SentencePiece models with fixed special ids, and the word that each piece belongs to.

Words are separated by whitespace as in `str.split()`, or cut by a model or rule of a language without spaces.
SentencePiece sees text with single spaces. So every kind of Unicode whitespace separates words for both.
"""

from __future__ import annotations

import copy
import hashlib
import unicodedata
from bisect import bisect_left
from collections import Counter
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
from nmt.text.languages import SPACED, Words
from nmt.text.languages.words import word_spans
from nmt.text.model_sizes import require_sizes
from nmt.text.pieces import BOS, EOS, PAD, SPACE, UNK
from nmt.text.sentencepiece_training import single_spaced, train_model


class SegmentedSentence(NamedTuple):
    """A sentence as words and as pieces."""

    text: str
    words: list[str]
    """The words of the text, or the first of them."""
    ids: list[int]
    """The piece ids."""
    word_of_piece: list[int]
    """For each piece the index of its word in `words`, in ascending order."""
    cut: bool = False
    """Whether `cut_words` removed the end; `text` is still whole."""
    divided: tuple[tuple[int, tuple[float, ...]], ...] = ()
    """Pieces that cover several words of a language without spaces, in ascending order. Each has the share of its
    characters in its first word, `word_of_piece`, and in each word after it. The shares sum to 1."""

    def beginning(self, pieces: int, words: int) -> SegmentedSentence:
        """The first pieces and words. The text stays whole."""
        divided = []
        for piece, shares in self.divided:
            if piece < pieces and self.word_of_piece[piece] < words:
                kept = shares[: words - self.word_of_piece[piece]]
                divided.append((piece, tuple(share / sum(kept) for share in kept)))
        return self._replace(
            words=self.words[:words],
            ids=self.ids[:pieces],
            word_of_piece=self.word_of_piece[:pieces],
            divided=tuple(divided),
        )

    def last_word(self, piece: int) -> int:
        """The last word that a piece covers."""
        return self.word_of_piece[piece] + len(dict(self.divided).get(piece, (1.0,))) - 1


def cut_words(sentence: SegmentedSentence, limit: int) -> SegmentedSentence:
    """The beginning of a sentence: at most `limit` pieces and at most `limit` words. Its text stays whole.

    Words behind the last piece are removed too. One piece can cover many words, so both numbers are limited: the memory
    of an alignment grows with the words of both sides.
    """
    if len(sentence.ids) <= limit and len(sentence.words) <= limit:
        return sentence
    pieces = min(limit, bisect_left(sentence.word_of_piece, limit))
    words = min(limit, sentence.last_word(pieces - 1) + 1) if 0 < pieces < len(sentence.ids) else limit
    return sentence.beginning(pieces, words)._replace(cut=True)


class Tokenizer:
    """A SentencePiece model, made by `train` or `load`, with the rule that cuts sentences into words.

    Equal models are equal, whatever their words.

    Raises:
        VocabularyError: `model` is not a SentencePiece model with special ids PAD 0, UNK 1, BOS 2, EOS 3.
    """

    def __init__(self, model: bytes, name: str = "vocabulary") -> None:
        self._model = model
        self.words: Words = SPACED
        """Cuts a sentence into words; by default at spaces."""
        try:
            require_sizes(model)
            self._processor = sentencepiece.SentencePieceProcessor.from_proto(model)
            self.pieces(range(self.size))  # a damaged piece may be invalid UTF-8
        except (RuntimeError, ValueError):
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
            sentences: their errors are raised unchanged. If they can be read several times, a wrong size is refused
                with both bounds, and `config.adapt_size` works.
            config: kind of model, normalisation, symbols.
            size: number of pieces, special pieces included; 0: `config.size`.

        Raises:
            VocabularyError: no text, more or fewer pieces than the text allows, or unusable symbols.
        """
        flag = "--vocabulary.target_size" if size else "--vocabulary.size"
        return cls(train_model(sentences, config, size or config.size, flag))

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

    def with_words(self, words: Words) -> Tokenizer:
        """The same model with another rule for words."""
        changed = copy.copy(self)
        changed.words = words
        return changed

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
        return self._processor.encode([single_spaced(sentence) for sentence in sentences], return_type=int)

    def encode_with_surfaces(self, sentences: Sequence[str]) -> list[list[tuple[int, str]]]:
        """As `encode`, with the text that each piece stands for: normalised, with ▁ for a space.

        The surface of an unknown piece is the unknown text.
        """
        texts = [single_spaced(sentence) for sentence in sentences]
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
        return [single_spaced(text) for text in texts]

    def rewritten(self, sentences: Sequence[str]) -> list[tuple[str, str]]:
        """The sentences that normalisation changes, each with single spaces and as normalised."""
        written = [single_spaced(sentence) for sentence in sentences]
        normalized = [single_spaced(text.replace(SPACE, " ")) for text in self._processor.normalize(written)]
        return [both for both in zip(written, normalized, strict=True) if both[0] != both[1]]

    @property
    def keeps_characters(self) -> bool:
        """Whether normalisation keeps characters that only look like others, such as full-width letters."""
        return not self.rewritten(["\uff21"])

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

    @property
    def opens(self) -> list[bool]:
        """For each id, whether a word may follow the piece without a space, as behind an apostrophe or a bracket."""
        return [_may_precede_a_word(piece[-1]) for piece in self.pieces(range(self.size))]

    def segment(self, sentence: str) -> SegmentedSentence:
        """The pieces of `encode` with the word of each piece.

        A word whose characters all vanish in normalisation has no piece. A piece that covers several words separated by
        spaces belongs to the first of them: a word model makes one piece of neighbouring unknown words. A piece that
        covers several words of a language without spaces is divided by characters.
        """
        text = single_spaced(sentence)
        encoded = self._processor.encode(text, return_type="offset_mapping")
        origins = self._processor.normalize(text, with_offsets=True)[1]
        spans: list[tuple[int, int] | None] = []
        start = 0  # the pieces joined are the normalised text; `origins` maps its positions to the original text
        for piece in encoded["pieces"]:
            lead, end = len(piece) - len(piece.lstrip(SPACE)), start + len(piece)
            spans.append((origins[start + lead], origins[end]) if lead < len(piece) else None)
            start = end
        return self._segmented(sentence, text, encoded["ids"], spans)

    def segment_words(self, words: Sequence[str]) -> SegmentedSentence:
        """The pieces of a sentence that is already cut into words."""
        return self.segment(" ".join(words))

    def join(self, ids: Sequence[int]) -> SegmentedSentence:
        """The text of `decode` with the word of each piece.

        No id is left out: a PAD, BOS or EOS has no text and belongs to the word of the next piece. If no id has text,
        all belong to word 0.
        """
        decoded = self._processor.decode([int(i) for i in ids], return_type="offset_mapping")
        text = decoded["text"]
        spans: list[tuple[int, int] | None] = []
        for begin, end in decoded["offsets"]:
            lead = end - begin - len(text[begin:end].lstrip())
            spans.append((begin + lead, end) if begin + lead < end else None)
        return self._segmented(single_spaced(text), text, decoded["ids"], spans)

    def _segmented(
        self, sentence: str, text: str, ids: list[int], spans: list[tuple[int, int] | None]
    ) -> SegmentedSentence:
        """The words of `text`, and the words of the pieces that cover these spans of it; None: a piece without text."""
        words = self.words(text)
        word_at = _word_at(text, words)
        word_of_piece = _words_of_spans(spans, word_at)
        divided = _divided(spans, word_at, text) if self.words.name else ()
        return SegmentedSentence(sentence, words, ids, word_of_piece, divided=divided)


def _word_at(text: str, words: Sequence[str]) -> list[int]:
    """The index of the word at each position of `text`; a space has the index of the word before it."""
    starts = {begin for begin, _ in word_spans(text, words)}
    return [count - 1 for count in accumulate(position in starts for position in range(len(text)))]


def _words_of_spans(spans: Sequence[tuple[int, int] | None], word_at: Sequence[int]) -> list[int]:
    """The word at the beginning of each span. None takes the next known word, or else the last."""
    words: list[int] = []
    following = max((word_at[span[0]] for span in spans if span is not None), default=0)
    for span in reversed(spans):
        following = following if span is None else word_at[span[0]]
        words.append(following)
    return words[::-1]


def _divided(
    spans: Sequence[tuple[int, int] | None], word_at: Sequence[int], text: str
) -> tuple[tuple[int, tuple[float, ...]], ...]:
    """The spans over several words, each with the shares of its characters in them."""
    divided = []
    for piece, span in enumerate(spans):
        if span is None or word_at[span[0]] == word_at[max(span[0], span[1] - 1)]:
            continue
        counts = Counter(word_at[i] for i in range(*span) if not text[i].isspace())
        if len(counts) > 1:
            divided.append((piece, tuple(counts[word] / counts.total() for word in sorted(counts))))
    return tuple(divided)


_OPENING = frozenset("'’\"/¿¡")
"""Marks before words, in categories of marks behind words."""


def _may_precede_a_word(character: str) -> bool:
    """Whether a word may follow a character without a space.

    A full stop needs a space behind it, but not the wide one of Chinese and Japanese.
    """
    kind, is_wide = unicodedata.category(character), unicodedata.east_asian_width(character) in "WF"
    needs_space = kind in ("Po", "Pe", "Pf") and character not in _OPENING and not is_wide
    return kind[0] not in "LNM" and not needs_space
