"""Training of SentencePiece models, with errors in the user's terms."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator

import sentencepiece

from nmt.config import VocabularyConfig
from nmt.text.errors import VocabularyError
from nmt.text.pieces import BOS, EOS, PAD, SPACE, SPECIAL_PIECES, UNK, UNKNOWN_SURFACE

_TRAINING_SENTENCES = 2_000_000
"""Sentences of a training at most: a larger corpus is sampled, so memory is bounded."""
_TRAINING_THREADS = 16
"""Threads of a training on every machine: the sums of unigram training depend on their number."""


def train_model(sentences: Iterable[str], config: VocabularyConfig, size: int) -> bytes:
    """The SentencePiece model that `Tokenizer.train` describes.

    Args:
        sentences: a stream that is read once; its errors are raised unchanged.
        config: kind of model, normalisation, symbols.
        size: number of pieces, special pieces included.

    Raises:
        VocabularyError: no text, more or fewer pieces than the text allows, or unusable symbols.
    """
    _check_symbols(config.symbols)
    failure: list[BaseException] = []
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=_recording(sentences, failure),
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
        raise (failure[0] if failure else _user_error(str(error), size)) from None
    return model.getvalue()


def _recording(sentences: Iterable[str], failure: list[BaseException]) -> Iterator[str]:
    """The same sentences. SentencePiece hides the type of their errors, so `failure` keeps the error."""
    try:
        yield from sentences
    except BaseException as error:
        failure.append(error)
        raise


def _check_symbols(symbols: tuple[str, ...]) -> None:
    for position, symbol in enumerate(symbols):
        if not symbol or SPACE in symbol or any(character.isspace() for character in symbol):
            raise VocabularyError(f"vocabulary.symbols: {symbol!r} is empty or contains a space")
        if symbol in SPECIAL_PIECES or symbol in symbols[:position]:
            raise VocabularyError(f"vocabulary.symbols: {symbol!r} is already in the vocabulary; leave it out")


def _user_error(message: str, size: int) -> VocabularyError:
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
