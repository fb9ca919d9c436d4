"""Requests over HTTP as requests of a translator, with the limits of the server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nmt.config import SearchConfig
from nmt.serving.limits import Limits, RefusedError, over_limit
from nmt.serving.messages import TranslateRequest
from nmt.text.languages.words import word_spans
from nmt.translation.glossary import Glossary, Term
from nmt.translation.request import TranslationRequest
from nmt.translation.translator import Translator


def as_texts(text: str | Sequence[str]) -> list[str]:
    """One text or several as a list."""
    return [text] if isinstance(text, str) else list(text)


def checked_texts(text: str | Sequence[str], limits: Limits, most: int | None = None) -> list[str]:
    """The texts of a request.

    Args:
        most: the largest number of texts; None: that of a request which is answered at once.

    Raises:
        RefusedError: too many texts, or a text that is too long.
    """
    texts = as_texts(text)
    name = "texts" if most is None else "lines"
    most = limits.texts if most is None else most
    if len(texts) > most:
        raise over_limit(413, f"the request has {len(texts):,} texts", name, most)
    longest = max(map(len, texts), default=0)
    if longest > limits.characters:
        raise over_limit(413, f"a text has {longest:,} characters", "characters", limits.characters)
    return texts


def checked_targets(target: str | Sequence[str], texts: Sequence[str], limits: Limits) -> list[str]:
    """The given translations of texts.

    Raises:
        RefusedError: another number of translations than texts, or one that is too long.
    """
    return _one_for_each("target", target, texts, limits)


def _one_for_each(field: str, given: str | Sequence[str], texts: Sequence[str], limits: Limits) -> list[str]:
    """The texts of a field that has one for each text of the request."""
    found = as_texts(given)
    if len(found) != len(texts):
        raise RefusedError(422, f"{field} has {len(found):,} texts, and text has {len(texts):,}: give as many")
    return checked_texts(found, limits, len(texts))


def translation_requests(
    body: TranslateRequest, texts: Sequence[str], translator: Translator, limits: Limits
) -> list[TranslationRequest]:
    """The requests for the texts of a request.

    Raises:
        RefusedError: a limit is exceeded.
        NmtError: fields that contradict each other.
    """
    own = translator.config.search
    search = search_of(own, limits, body.beam_size, body.n_best, body.copy_unknown)
    extras = len(body.phrases) + len(body.terms) + len(body.lexicon)
    if extras > limits.phrases:
        raise over_limit(422, f"the request has {extras:,} phrases, terms and words", "phrases", limits.phrases)
    prefixes = [body.prefix] * len(texts) if isinstance(body.prefix, str) else body.prefix
    _one_for_each("prefix", prefixes, texts, limits)
    characters = sum(map(len, _forced(body)))
    if characters > limits.characters:
        found = f"phrases, terms and lexicon have {characters:,} characters"
        raise over_limit(413, found, "characters", limits.characters)
    terms = tuple(Term(term.source, tuple(term.forms)) for term in body.terms)
    if body.terms_required:
        _require_writable(Glossary(terms), texts, translator)
    return [
        TranslationRequest(
            text,
            search,
            prefix,
            tuple(body.phrases),
            body.lexicon,
            body.n_best,
            terms=terms,
            glossary_mode="require" if body.terms_required else "prefer",
            markup=body.markup,
            aligned=body.alignment,
            sentence_id=place,
        )
        for place, (text, prefix) in enumerate(zip(texts, prefixes, strict=True))
    ]


def _require_writable(glossary: Glossary, texts: Sequence[str], translator: Translator) -> None:
    """Refuses required terms of the texts that no translation can have."""
    unwritable = set(glossary.unwritable(translator.run.target))
    for term in (term for text in texts for term in glossary.of(text) if unwritable):
        if term in unwritable:
            lacks = f"the target vocabulary lacks characters of the translations of '{term.source}'"
            raise RefusedError(422, f"{lacks}: leave the term out")


def _forced(body: TranslateRequest) -> Iterator[str]:
    """The wishes of a request about its translations, besides prefixes."""
    yield from body.phrases
    yield from itertools.chain(*body.lexicon.items())
    for term in body.terms:
        yield from (term.source, *term.forms)


def search_of(
    own: SearchConfig, limits: Limits, beam_size: int | None = None, n_best: int = 1, copy_unknown: bool = False
) -> SearchConfig:
    """The search of a request: the model's, with the settings that a request may change.

    Args:
        beam_size: None: the model's, or `n_best` if that is larger.

    Raises:
        RefusedError: a beam beyond the limit, or more translations than the beam holds.
    """
    size, most = beam_size or max(own.beam_size, n_best), max(limits.beam_size, own.beam_size)
    if size > most:
        raise over_limit(422, f"{'beam_size' if beam_size else 'n_best'} is {size:,}", "beam_size", most)
    if n_best > size:
        raise RefusedError(422, f"n_best is {n_best}, and beam_size is {size}: raise beam_size")
    return replace(own, beam_size=size, copy_unknown=copy_unknown or own.copy_unknown)


def without_words(text: str, words: Sequence[str], erased: Sequence[int]) -> str:
    """A text without some of its words.

    Args:
        words: the words of the text.
        erased: indices of words.

    Raises:
        RefusedError: an index beyond the words.
    """
    gone = set(erased)
    if gone and max(gone) >= len(words):
        raise RefusedError(422, f"erase has {max(gone)}, and the text has {len(words)} words, counted from 0")
    kept, at = [], 0
    for index, (begin, end) in enumerate(word_spans(text, words)):
        kept += [text[at:begin], "" if index in gone else text[begin:end]]
        at = end
    return " ".join("".join(kept).split())
