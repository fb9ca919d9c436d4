"""Training of SentencePiece models, with errors in the user's terms."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import sentencepiece

from nmt.config import VocabularyConfig
from nmt.text.composition import composition_rules
from nmt.text.errors import VocabularyError
from nmt.text.pieces import BOS, EOS, PAD, SPACE, SPECIAL_PIECES, UNK, UNKNOWN_SURFACE

_TRAINING_SENTENCES = 2_000_000
"""Sentences of a training at most: a larger corpus is sampled, so memory is bounded."""
_LARGE = 2**16
"""More pieces than most texts allow; training a model of so many shows the bound of a text."""
_SMALL = 100_000
"""Sentences up to which such a model is trained for a message."""
_TRAINING_THREADS = 16
"""Threads of a training on every machine: the sums of unigram training depend on their number."""


class _SizeRefused(Exception):
    """SentencePiece refuses a number of pieces and names one of the two bounds that the text sets."""

    def __init__(self, least: int = 0, most: int = 0) -> None:
        self.least, self.most = least, most


def train_model(sentences: Iterable[str], config: VocabularyConfig, size: int, flag: str) -> bytes:
    """The SentencePiece model that `Tokenizer.train` describes.

    Args:
        sentences: read again if the text allows another number of pieces only; their errors are raised unchanged.
        config: kind of model, normalisation, symbols, and whether another size may be taken.
        size: number of pieces, special pieces included.
        flag: the flag of `nmt train` that gives the size, for messages.

    Raises:
        VocabularyError: no text, more or fewer pieces than the text allows, or unusable symbols.
    """
    _check_symbols(config.symbols)
    try:
        return _train(sentences, config, size)
    except _SizeRefused as refused:
        bound = refused
    once = iter(sentences) is sentences
    if not config.adapt_size or once:
        raise VocabularyError(_refusal(size, flag, bound if once else _both_bounds(sentences, config, bound)))
    try:
        return _train(sentences, config, bound.most or 2 * bound.least)  # as many longer pieces as characters
    except _SizeRefused as still:
        return _train(sentences, config, still.most or bound.least)


def _both_bounds(sentences: Iterable[str], config: VocabularyConfig, known: _SizeRefused) -> _SizeRefused:
    """The least and the most pieces that a text allows. One is known; the most is found for a small text alone."""
    if known.least and sum(1 for _ in islice(sentences, _SMALL)) == _SMALL:
        return known
    try:
        _train(sentences, config, _LARGE if known.least else len(SPECIAL_PIECES) + 1)
        least, most = (0, 0) if known.least else (len(SPECIAL_PIECES) + 1, 0)
    except _SizeRefused as other:
        least, most = other.least, other.most
    return _SizeRefused(known.least or least, known.most or most)


def _refusal(size: int, flag: str, bounds: _SizeRefused) -> str:
    """The message about a number of pieces outside of the bounds; a bound of 0 is unknown."""
    limits = [f"at least {bounds.least}"] * bool(bounds.least) + [f"at most {bounds.most}"] * bool(bounds.most)
    advice = f"set {flag} to {' and '.join(limits)}"
    if bounds.most and size > bounds.most:
        return f"{size} pieces are more than this text allows: {advice}"
    return (
        f"{size} pieces are too few for the characters of this text: {advice}, or lower --vocabulary.character_coverage"
    )


def _train(sentences: Iterable[str], config: VocabularyConfig, size: int) -> bytes:
    """Runs SentencePiece once.

    Raises:
        _SizeRefused: the text does not allow this number of pieces.
        VocabularyError: any other failure.
    """
    failure: list[BaseException] = []
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=_recording(sentences, failure),
            model_writer=model,
            model_type=config.type,
            vocab_size=size,
            hard_vocab_limit=config.type in ("unigram", "bpe"),
            character_coverage=config.character_coverage or 1.0,
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
            **_normalization(config),
            **_longest_piece(config),
        )
    except RuntimeError as error:
        raise (failure[0] if failure else _user_error(str(error))) from None
    return model.getvalue()


def single_spaced(sentence: str) -> str:
    """The words of a sentence with single spaces between them."""
    return " ".join(sentence.split())


def _normalization(config: VocabularyConfig) -> dict[str, Any]:
    """SentencePiece's options for the normalisation."""
    if config.normalization in ("auto", "nfc"):
        sentencepiece.set_min_log_level(2)  # no lines about the table
        return {"normalizer": sentencepiece.SentencePieceNormalizer(norm_map=composition_rules())}
    return {"normalization_rule_name": config.normalization}


def _longest_piece(config: VocabularyConfig) -> dict[str, Any]:
    """SentencePiece's option for the longest piece; none: its own 16, which a model file then does not mention."""
    return {"max_sentencepiece_length": config.longest_piece} if config.longest_piece else {}


def _recording(sentences: Iterable[str], failure: list[BaseException]) -> Iterator[str]:
    """The sentences, single-spaced. SentencePiece hides the type of their errors, so `failure` keeps the error."""
    try:
        yield from map(single_spaced, sentences)
    except BaseException as error:
        failure.append(error)
        raise


def _check_symbols(symbols: tuple[str, ...]) -> None:
    for position, symbol in enumerate(symbols):
        if not symbol or SPACE in symbol or any(character.isspace() for character in symbol):
            raise VocabularyError(f"vocabulary.symbols: {symbol!r} is empty or contains a space")
        if symbol in SPECIAL_PIECES or symbol in symbols[:position]:
            raise VocabularyError(f"vocabulary.symbols: {symbol!r} is already in the vocabulary; leave it out")


def _user_error(message: str) -> Exception:
    """SentencePiece's error in the user's terms."""
    if found := re.search(r"Vocabulary size too high .* value <= (\d+)", message):
        return _SizeRefused(most=int(found[1]))
    if found := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return _SizeRefused(least=int(found[1]))
    if "sentences_.empty()" in message or "all_chars_count" in message:
        return VocabularyError("no text to train a vocabulary on: all sentences are empty or over 4192 bytes long")
    return VocabularyError(f"SentencePiece cannot train this vocabulary: {' '.join(message.split())}")
