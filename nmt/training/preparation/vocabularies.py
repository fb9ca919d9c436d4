"""The vocabularies of a new run: trained on its pairs, or taken from another run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from nmt.config import RunConfig, VocabularyConfig
from nmt.progress import LineProgress
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.text.languages import Language, languages_of
from nmt.text.pairs import Pair
from nmt.text.tokenizer import Tokenizer


def make_vocabularies(
    config: RunConfig, pairs: Iterable[Pair], report: Callable[[str], None]
) -> tuple[Tokenizer, Tokenizer]:
    """Source and target vocabulary, one object twice where the languages share it.

    Args:
        pairs: training pairs; validation pairs stay unknown to the vocabulary.
        report: takes a line on the vocabularies.

    Raises:
        VocabularyError: the pairs have too few different pieces.
        RunError: `vocabulary.run` names no run, or one with other settings.
    """
    settings, languages = config.vocabulary, languages_of(config.corpus)
    if settings.run:
        run = run_of_vocabularies(config)
        report(f"vocabularies of {settings.run}: {run.source.size} source and {run.target.size} target pieces")
        return run.source, run.target
    if settings.shared:
        shared = Tokenizer.train(_Sentences(pairs, "source", "target"), with_coverage(settings, *languages))
        report(f"vocabulary: {shared.size} {settings.type} pieces for both languages")
        return shared, shared
    source = Tokenizer.train(_Sentences(pairs, "source"), with_coverage(settings, languages.source))
    target = Tokenizer.train(
        _Sentences(pairs, "target"), with_coverage(settings, languages.target), settings.target_size
    )
    report(f"vocabularies: {source.size} source and {target.size} target {settings.type} pieces")
    return source, target


class _Sentences:
    """The sentences of pairs, which can be read several times; a line shows how far each reading is.

    Args:
        sides: fields of `Pair`.
    """

    def __init__(self, pairs: Iterable[Pair], *sides: str) -> None:
        self._pairs, self._sides = pairs, sides

    def __iter__(self) -> Iterator[str]:
        for pair in LineProgress(unit="pairs").over(self._pairs):
            yield from (getattr(pair, side) for side in self._sides)


def with_coverage(settings: VocabularyConfig, *languages: Language) -> VocabularyConfig:
    """The settings with a character coverage for text of these languages, where they leave it open.

    Scripts of thousands of characters have many that occur once. Pieces for all of them would crowd out words.
    """
    if settings.character_coverage:
        return settings
    many = any(language.has_many_characters for language in languages)
    return replace(settings, character_coverage=0.9995 if many else 1.0)


def run_of_vocabularies(config: RunConfig) -> Run:
    """The run that `vocabulary.run` names.

    Raises:
        RunError: there is no such run, or its languages share a vocabulary and these do not, or the reverse.
    """
    run = Run.open(Path(config.vocabulary.run))
    shared = run.config.vocabulary.shared
    if shared != config.vocabulary.shared:
        flag = f"--vocabulary.shared {str(shared).lower()}"
        raise RunError(f"--vocabulary.run {run.directory}: vocabulary.shared is {shared} in this run: give {flag}")
    return run
