"""Constraints of a search, from text to pieces of the target vocabulary."""

from __future__ import annotations

from nmt.config import SearchConfig
from nmt.errors import NmtError
from nmt.text.pieces import EOS, UNK
from nmt.text.tokenizer import Tokenizer
from nmt.translation.inference.protocol import NO_CONSTRAINT, PieceConstraint
from nmt.translation.request import RequestError, TranslationRequest


def suppressed_pieces(search: SearchConfig, vocabulary: Tokenizer) -> list[int]:
    """The pieces that a search suppresses.

    Raises:
        NmtError: the target vocabulary lacks a piece, or it is the end of sentence.
    """
    pieces = [(text, vocabulary.index(text)) for text in search.suppress]
    for text, piece in pieces:
        if piece is None or piece == EOS:
            raise NmtError(f"search.suppress: '{text}' is no piece of the target vocabulary that can be left out")
    return [piece for _, piece in pieces if piece is not None]


def piece_constraint(request: TranslationRequest, vocabulary: Tokenizer, where: str = "") -> PieceConstraint:
    """The prefix and the phrases of a request, in pieces.

    Args:
        vocabulary: the target's.
        where: file and line of the texts, for the message.

    Raises:
        RequestError: a text has characters that the target vocabulary lacks.
    """
    if not (request.prefix or request.phrases):
        return NO_CONSTRAINT
    texts = [request.prefix, *request.phrases]
    prefix, *phrases = encoded = vocabulary.encode(texts)
    for text, pieces in zip(texts, encoded, strict=True):
        if UNK in pieces:
            raise RequestError(
                f"{where or f'sentence {request.sentence_id + 1}'}: '{text}' has characters that the target "
                "vocabulary does not have, so no translation can contain it; leave it out"
            )
    return PieceConstraint(prefix, [pieces for pieces in phrases if pieces])
