"""The vocabularies of a new run: trained on its pairs, or taken from another run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from nmt.config import CorpusConfig, RunConfig, VocabularyConfig
from nmt.progress import LineProgress
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.text.languages import Language, languages_of
from nmt.text.pairs import Pair
from nmt.text.tokenizer import Tokenizer

_SAMPLE = 1000
"""Pairs that show whether a side has spaces between its words."""
_LONG_WORD = 15
"""Mean characters between spaces beyond which a side has none between its words. Finnish has about 8."""
_SHORT_PIECE = 8
"""Characters of the longest piece of a side without spaces between words."""


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
    settings = config.vocabulary
    if settings.run:
        run = run_of_vocabularies(config)
        report(f"vocabularies of {settings.run}: {run.source.size:,} source and {run.target.size:,} target pieces")
        return run.source, run.target
    if settings.shared:
        of_both = fitted_settings(config, pairs, "source", "target")
        shared = Tokenizer.train(_Sentences(pairs, "source", "target"), of_both)
        about = _about_pieces(shared, settings.size, of_both, settings)
        report(f"vocabulary: {shared.size:,} {settings.type} pieces for both languages{about}")
        return shared, shared
    of_source, of_target = fitted_settings(config, pairs, "source"), fitted_settings(config, pairs, "target")
    source = Tokenizer.train(_Sentences(pairs, "source"), of_source)
    target = Tokenizer.train(_Sentences(pairs, "target"), of_target, settings.target_size)
    about_source = _about_pieces(source, settings.size, of_source, settings)
    about_target = _about_pieces(target, settings.target_size or settings.size, of_target, settings)
    report(
        f"vocabularies: {source.size:,} source{about_source} and {target.size:,} target {settings.type} "
        f"pieces{about_target}"
    )
    return source, target


def _about_pieces(made: Tokenizer, wanted: int, fitted: VocabularyConfig, settings: VocabularyConfig) -> str:
    """A remark on the number and the length of pieces that the text has decided."""
    remarks = []
    if fitted.longest_piece != settings.longest_piece:
        remarks.append(f"of {fitted.longest_piece} characters at most, because text has no spaces between words")
    if made.size < wanted:
        remarks.append("as many as the text allows")
    return f" ({'; '.join(remarks)})" if remarks else ""


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


def fitted_settings(config: RunConfig, pairs: Iterable[Pair], *sides: str) -> VocabularyConfig:
    """The settings with the values that they leave open, chosen for the text of these sides.

    Pieces end at spaces. Without spaces the most frequent pieces would be phrases, and their words would be rare. So
    pieces of such text are shorter.
    """
    languages = languages_of(config.corpus)
    settings = with_coverage(config.vocabulary, *(getattr(languages, side) for side in sides))
    leaves_open = settings.type in ("unigram", "bpe") and not settings.longest_piece
    if leaves_open and any(_is_unspaced(config.corpus, pairs, side) for side in sides):
        return replace(settings, longest_piece=_SHORT_PIECE)
    return settings


def with_coverage(settings: VocabularyConfig, *languages: Language) -> VocabularyConfig:
    """The settings with a character coverage for text of these languages, where they leave it open.

    Scripts of thousands of characters have many that occur once. Pieces for all of them would crowd out words.
    """
    if settings.character_coverage:
        return settings
    many = any(language.has_many_characters for language in languages)
    return replace(settings, character_coverage=0.9995 if many else 1.0)


def _is_unspaced(corpus: CorpusConfig, pairs: Iterable[Pair], side: str) -> bool:
    """Whether a side has no spaces between its words: by its language, or because its spaces are far apart."""
    if getattr(corpus, f"{side}_words") == "cut":
        return True
    lengths = [len(word) for pair in islice(pairs, _SAMPLE) for word in getattr(pair, side).split()]
    return sum(lengths) > _LONG_WORD * len(lengths)


def with_vocabulary_of_run(config: RunConfig) -> RunConfig:
    """The configuration with the settings of the vocabulary that `vocabulary.run` brings, if it names a run.

    Raises:
        RunError: see `run_of_vocabularies`.
    """
    if not config.vocabulary.run:
        return config
    saved = run_of_vocabularies(config).config.vocabulary
    return replace(config, vocabulary=replace(saved, run=config.vocabulary.run))


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
