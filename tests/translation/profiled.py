"""Translators of a hand-written model that know the profile of a training text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hand_written import Copier

from nmt.config import CorpusConfig, RunConfig, SearchConfig, VocabularyConfig
from nmt.run.directory import Run
from nmt.text.languages import words_of
from nmt.text.swapped_sides import Vocabularies, measure_profile
from nmt.text.tokenizer import Tokenizer
from nmt.translation.translator import Translator

TOKENISED = ["The garden is empty .", "Is the garden empty ?", "Well , I see Emma , Olivier and the tractor ."] * 25
LOWER_CASED = [line.lower() for line in TOKENISED]
PLAIN = ["The garden is empty.", "Is the garden empty?", "Well, I see Emma, Olivier and the tractor."] * 25


def profiled(
    lines: Sequence[str], targets: Sequence[str] = (), languages: tuple[str, str] = ("", ""), **search: Any
) -> Translator:
    """A translator that copies text, trained on these lines: its vocabulary has a piece for each of their words."""
    settings = VocabularyConfig(type="word", size=200)
    vocabulary = Tokenizer.train([*lines, *targets], settings)
    corpus = CorpusConfig(source_language=languages[0], target_language=languages[1])
    config = RunConfig(vocabulary=settings, search=SearchConfig(**search), corpus=corpus)
    pairs = list(zip(lines, targets or lines, strict=True))
    source, target = map(vocabulary.with_words, words_of(corpus))
    profile = measure_profile(pairs, Vocabularies(source, target), languages)
    return Translator(Run(Path("nowhere"), config, vocabulary, vocabulary), Copier(), profile)
