"""Constraints of a search, from text to pieces of the target vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

from nmt.config import SearchConfig
from nmt.errors import NmtError
from nmt.text.pieces import EOS, UNK
from nmt.text.tokenizer import SegmentedSentence, Tokenizer
from nmt.translation.glossary import Glossary, decoded_forms, form_pieces, unanswered
from nmt.translation.inference.protocol import NO_CONSTRAINT, PieceConstraint, PieceTerm
from nmt.translation.inference.search_batch import longest_translations
from nmt.translation.request import RequestError, TranslationRequest

MOST_OCCURRENCES = 50
"""Occurrences of terms in a sentence that a search follows: its time grows with them at every step."""


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


def piece_constraint(
    request: TranslationRequest,
    vocabulary: Tokenizer,
    where: str = "",
    source: SegmentedSentence | None = None,
) -> PieceConstraint:
    """The prefix, the phrases and the terms of a request, in pieces.

    Args:
        vocabulary: the target's.
        where: file and line of the texts, for the message.
        source: the request's text as the model reads it; None: terms are left out.

    Raises:
        RequestError: a prefix or phrase has characters that the target vocabulary lacks, or is longer than the longest
            translation.
    """
    if not (request.prefix or request.phrases or request.terms):
        return NO_CONSTRAINT
    texts = [request.prefix, *request.phrases]
    encoded = vocabulary.encode(texts)
    longest = int(longest_translations(request.search, request.search.max_source))
    for text, pieces in zip(texts, encoded, strict=True):
        place = where or f"sentence {request.sentence_id + 1}"
        if len(pieces) > longest:
            raise RequestError(
                f"{place}: '{text[:30]}...' has {len(pieces):,} pieces, and the longest translation {longest:,}; "
                "shorten it"
            )
        if UNK in pieces:
            raise RequestError(
                f"{place}: '{text}' has characters that the target "
                "vocabulary does not have, so no translation can contain it; leave it out"
            )
    terms = _piece_terms(request, source, vocabulary) if source and request.terms else []
    phrases = [form_pieces((phrase.strip(),), vocabulary, capitals=False) for phrase in request.phrases]
    required = request.glossary_mode == "require"
    return PieceConstraint(encoded[0], [forms for forms in phrases if forms], terms, required)


def _piece_terms(request: TranslationRequest, source: SegmentedSentence, vocabulary: Tokenizer) -> list[PieceTerm]:
    """The terms that occur in a request's text, in pieces.

    Terms that the target vocabulary cannot write are left out, and terms that the model does not read. The first
    `MOST_OCCURRENCES` count.
    """
    found = []
    text, spans, at = " ".join(request.text.split()), [], 0
    for word in source.words:
        at = max(text.find(word, at), at)
        spans.append((at, at + len(word)))
        at += len(word)
    for term, begin, end in Glossary(request.terms).occurrences(text):
        words = {number for number, (first, behind) in enumerate(spans) if first < end and begin < behind}
        positions = [piece for piece, word in enumerate(source.word_of_piece) if word in words]
        forms = form_pieces(term.forms, vocabulary)
        if forms and positions:
            found.append(PieceTerm(forms, positions, decoded_forms(term.forms, vocabulary)))
        if len(found) == MOST_OCCURRENCES:
            break
    return found


def has_terms(translation: str, terms: Sequence[PieceTerm]) -> bool:
    """Whether a translation has a form of each term; see `glossary.unanswered`."""
    return not unanswered([term.texts for term in terms], translation)
