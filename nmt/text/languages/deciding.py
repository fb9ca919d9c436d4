"""The languages and the kind of words that text decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nmt.config.corpus import CorpusConfig, WordRule
from nmt.text.languages.language import Language
from nmt.text.languages.scripts import guess_language
from nmt.text.languages.words import is_spaced


def decide_languages(corpus: CorpusConfig, source: Sequence[str], target: Sequence[str]) -> CorpusConfig:
    """The settings with a language and a kind of words for both sides.

    Args:
        corpus: its own values stay; the text decides on a language that is empty and on words that are `auto`.
        source, target: sentences.
    """
    of_source = _decide(corpus.source_language, corpus.source_words, source)
    of_target = _decide(corpus.target_language, corpus.target_words, target)
    return replace(
        corpus,
        source_language=of_source[0].tag,
        source_words=of_source[1],
        target_language=of_target[0].tag,
        target_words=of_target[1],
    )


def _decide(tag: str, words: WordRule, texts: Sequence[str]) -> tuple[Language, WordRule]:
    language = Language.of(tag) if tag else guess_language(texts)
    if words == "auto":
        words = "cut" if language.is_unspaced and not is_spaced(texts) else "spaces"
    return language, words
