"""The languages of a run: named by the user, or decided by the script of the training text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from nmt.config import CorpusConfig, RunConfig
from nmt.text.languages import Language, guess_language, main_script, script_counts
from nmt.text.pairs import PairReader

_PAIRS_READ = 10_000
"""Pairs at the beginning of the text that decide on its languages."""
_SIDES = ("source", "target")


def with_languages(config: RunConfig, say: Callable[[str], None]) -> RunConfig:
    """The configuration of a new run with both languages.

    Args:
        config: a language that it leaves empty is decided by the script of the first 10,000 pairs.
        say: takes a line on the languages, and a line for a language whose script differs from the text's.

    Raises:
        CorpusError: the pairs cannot be read, or can be read only once.
    """
    texts = _first_texts(config.corpus)
    given = [config.corpus.source_language, config.corpus.target_language]
    guessed = [side for side, tag in zip(_SIDES, given, strict=True) if not tag]
    languages = [Language.of(tag) if tag else guess_language(text) for tag, text in zip(given, texts, strict=True)]
    say(f"languages: {languages[0]} to {languages[1]}{_reason(guessed)}")
    for side, language, text in zip(_SIDES, languages, texts, strict=True):
        found = main_script(script_counts(text))
        if side not in guessed and found and language.script and not _same_script(language.script, found):
            say(
                f"corpus.{side}_language is {language}, but most of the {side} text is in the script {found}: "
                "are source and target exchanged?"
            )
    return _named(config, *languages)


def keep_languages(saved: RunConfig, requested: RunConfig) -> RunConfig:
    """The requested configuration with the languages of the saved one where it leaves them empty."""
    old, new = saved.corpus, requested.corpus
    tags = new.source_language or old.source_language, new.target_language or old.target_language
    return replace(requested, corpus=replace(new, source_language=tags[0], target_language=tags[1]))


def _named(config: RunConfig, source: Language, target: Language) -> RunConfig:
    return replace(config, corpus=replace(config.corpus, source_language=source.tag, target_language=target.tag))


def _first_texts(corpus: CorpusConfig) -> tuple[Sequence[str], Sequence[str]]:
    """Source and target sentences of the first pairs; without gold links, whose words are not yet known."""
    reader = PairReader(replace(corpus.train, alignment=""), corpus)
    reader.require_files()
    pairs = list(islice(reader, _PAIRS_READ))
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def _reason(guessed: Sequence[str]) -> str:
    if not guessed:
        return ""
    side = f"the {guessed[0]} " if len(guessed) == 1 else ""
    flags = " and ".join(f"--corpus.{side}_language" for side in guessed)
    return f", {side}by the script of the text; another language is named with {flags}"


def _same_script(one: str, other: str) -> bool:
    """Whether text of one script can be text of the other; Chinese has three codes, and Japanese may lack kana."""
    chinese = {"Hani", "Hans", "Hant", "Jpan"}
    return one == other or {one, other} <= chinese
