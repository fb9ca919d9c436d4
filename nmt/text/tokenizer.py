"""Subword vocabularies: SentencePiece models with fixed special ids, and which word each piece belongs to.

A word is what `str.split()` gives. Text is brought to single spaces between words before SentencePiece sees it, so
that every kind of Unicode whitespace parts words for both.
"""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import sentencepiece

from nmt.config import VocabularyConfig
from nmt.errors import NmtError
from nmt.files.atomic_writing import write_atomically
from nmt.text.pieces import BOS, EOS, PAD, SPECIAL_PIECES, UNK, UNKNOWN_SURFACE

_SPACE = "▁"  # SentencePiece's visible space: it starts the first piece of a word, or stands alone before it
_TRAINING_SENTENCES = 2_000_000  # a larger corpus is sampled, so that memory stays bounded
_TRAINING_THREADS = 16  # fixed, whatever the machine has: the sums of unigram training depend on how they are split


class VocabularyError(NmtError):
    """A vocabulary that cannot be trained or read; the message says why and what to change."""


class SegmentedSentence(NamedTuple):
    """A sentence as words and as pieces."""

    text: str
    """The sentence."""
    words: list[str]
    """`text.split()`."""
    ids: list[int]
    """Pieces."""
    word_of_piece: list[int]
    """For each piece the index in `words` of the word that it belongs to; never falls from piece to piece."""


def cut_words(sentence: SegmentedSentence, limit: int) -> SegmentedSentence:
    """The sentence with at most `limit` pieces; its text and words stay whole."""
    return sentence._replace(ids=sentence.ids[:limit], word_of_piece=sentence.word_of_piece[:limit])


class Tokenizer:
    """A SentencePiece model; `train` or `load` makes one.

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
        """Trains a model: the same sentences in the same order give the same bytes on any machine.

        Of more than two million sentences a random two million are used, the same each time. Characters beyond
        `config.character_coverage` become UNK. A char or word model has at most `size` pieces, the most frequent.

        Args:
            sentences: read once, in a stream; what they raise comes through.
            config: kind of model, normalisation, symbols.
            size: pieces, special ones included; 0: `config.size`.

        Raises:
            VocabularyError: no text, more or fewer pieces than the text allows, or unusable symbols.
        """
        _check_symbols(config.symbols)
        size = size or config.size
        failure: list[BaseException] = []
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=_watched(sentences, failure),
                model_writer=model,
                model_type=config.type,
                vocab_size=size,
                hard_vocab_limit=config.type in ("unigram", "bpe"),
                character_coverage=config.character_coverage,
                normalization_rule_name=config.normalization,
                user_defined_symbols=list(config.symbols),
                pad_id=PAD,
                unk_id=UNK,
                bos_id=BOS,
                eos_id=EOS,
                unk_surface=UNKNOWN_SURFACE,
                input_sentence_size=_TRAINING_SENTENCES,
                shuffle_input_sentence=True,
                num_threads=_TRAINING_THREADS,
                minloglevel=2,
            )
        except RuntimeError as error:
            raise (failure[0] if failure else _explained(str(error), size)) from None
        return cls(model.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Reads what `save` wrote.

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
        """Number of pieces, special ones included: ids are below it."""
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
        """The pieces of each sentence, without BOS and EOS; what the model does not know is UNK."""
        return self._processor.encode([_single_spaced(sentence) for sentence in sentences], return_type=int)

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """The text of each sequence of pieces, one space between words; PAD, BOS and EOS are left out."""
        texts = self._processor.decode([list(sequence) for sequence in ids], return_type=str) if len(ids) else []
        return [_single_spaced(text) for text in texts]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces as SentencePiece writes them, a space as ▁."""
        return [self._processor.id_to_piece(int(i)) for i in ids]

    def index(self, piece: str) -> int | None:
        """The id of a piece as SentencePiece writes it; None where the vocabulary does not have it."""
        found = self._processor.piece_to_id(piece)
        return found if self._processor.id_to_piece(found) == piece else None

    @property
    def joins(self) -> list[bool]:
        """Which pieces go on with the word before them: those that begin, without a space, with a letter of a script
        that has upper and lower case, or with a digit. (Many other scripts write no spaces.)"""
        return [unicodedata.category(piece[0]) in ("Lu", "Ll", "Nd") for piece in self.pieces(range(self.size))]

    def segment(self, sentence: str) -> SegmentedSentence:
        """The pieces of `encode` with the word that each of them comes from.

        A word whose characters all vanish in normalisation has no piece. A piece that covers several words, as
        unknown neighbours do in a word model, counts as the first.
        """
        text = _single_spaced(sentence)
        encoded = self._processor.encode(text, return_type="offset_mapping")
        origins = self._processor.normalize(text, with_offsets=True)[1]
        positions: list[int | None] = []
        start = 0  # the pieces one after the other are the normalised text, `origins` leads back from there
        for piece in encoded["pieces"]:
            lead = len(piece) - len(piece.lstrip(_SPACE))
            positions.append(origins[start + lead] if lead < len(piece) else None)
            start += len(piece)
        return SegmentedSentence(sentence, text.split(), encoded["ids"], _words_at(positions, text))

    def join(self, ids: Sequence[int]) -> SegmentedSentence:
        """The text of `decode` with the word that each piece goes into.

        The ids stay one to one: a PAD, BOS or EOS among them has no text and goes with the piece after it. Where
        there is no text at all the word is 0 for all of them.
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
    """The index of the word at each position of `text`; None: as the next that is known, else as the last."""
    starts = (not here.isspace() and before.isspace() for before, here in zip(" " + text, text, strict=False))
    word_at = [count - 1 for count in accumulate(starts)]
    words: list[int] = []
    following = max((word_at[p] for p in positions if p is not None), default=0)
    for position in reversed(positions):
        following = following if position is None else word_at[position]
        words.append(following)
    return words[::-1]


def _watched(sentences: Iterable[str], failure: list[BaseException]) -> Iterator[str]:
    """The sentences for training; SentencePiece hides the type of what they raise, so it is kept in `failure`."""
    try:
        for sentence in sentences:
            yield _single_spaced(sentence)
    except BaseException as error:
        failure.append(error)
        raise


def _check_symbols(symbols: tuple[str, ...]) -> None:
    for position, symbol in enumerate(symbols):
        if not symbol or _SPACE in symbol or any(character.isspace() for character in symbol):
            raise VocabularyError(f"vocabulary.symbols: {symbol!r} is empty or has a space in it")
        if symbol in SPECIAL_PIECES or symbol in symbols[:position]:
            raise VocabularyError(f"vocabulary.symbols: {symbol!r} is there already; leave it out")


def _explained(message: str, size: int) -> VocabularyError:
    """SentencePiece's error in the user's terms."""
    fields = "vocabulary.size (target_size where it is for the target)"
    if found := re.search(r"Vocabulary size too high .* value <= (\d+)", message):
        return VocabularyError(f"{size} pieces are more than this text allows: set {fields} to at most {found[1]}")
    if found := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return VocabularyError(
            f"{size} pieces are too few for the characters of this text: "
            f"set {fields} to at least {found[1]}, or lower vocabulary.character_coverage"
        )
    if "sentences_.empty()" in message or "all_chars_count" in message:
        return VocabularyError("no text to train a vocabulary on: all sentences are empty or over 4192 bytes long")
    return VocabularyError(f"SentencePiece cannot train this vocabulary: {' '.join(message.split())}")
