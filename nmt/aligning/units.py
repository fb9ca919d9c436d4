"""The units that an aligner links, words or pieces, and alignments of words that follow from alignments of units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nmt.alignment.pieces_to_words import piece_parts, sum_by_word
from nmt.config.aligner import AlignerConfig
from nmt.run.directory import Run
from nmt.text.languages import words_of
from nmt.text.tokenizer import SegmentedSentence

Floats = NDArray[np.float32]


class Units(Protocol):
    """Cuts sentences into units with ids: a `WordVocabulary`, or the `Tokenizer` of a run."""

    @property
    def size(self) -> int: ...

    def segment(self, sentence: str) -> SegmentedSentence: ...

    def segment_words(self, words: Sequence[str]) -> SegmentedSentence: ...


def word_posterior(posterior: Floats, source: SegmentedSentence, target: SegmentedSentence) -> Floats:
    """The posterior of target words: summed over the units of a source word, averaged over the units of a target word.

    Args:
        posterior: [target units, 1 + source units]; the empty word first. Rows sum to 1.
        source, target: words and the word of each unit.

    Returns:
        [target words, 1 + source words]. Rows sum to 1; the row of a word without units has the empty word alone.
    """
    if len(source.ids) == len(source.words) and len(target.ids) == len(target.words):
        return posterior
    of_source, of_target = piece_parts(source), piece_parts(target)
    rows = sum_by_word(posterior.astype(float), of_target, len(target.words))
    units = sum_by_word(np.ones(len(posterior)), of_target, len(target.words))
    rows /= np.where(units > 0, units, 1)[:, None]
    between = sum_by_word(rows[:, 1:].T, of_source, len(source.words)).T
    empty = np.where(units > 0, rows[:, 0], 1)
    return np.concatenate([empty[:, None], between], axis=1).astype(np.float32)


def word_support(
    supported: NDArray[np.bool_], source: SegmentedSentence, target: SegmentedSentence
) -> NDArray[np.bool_]:
    """Whether two words have units that the training linked: [target words, source words].

    Args:
        supported: for two units, [target units, source units].
        source, target: words and the word of each unit.
    """
    if len(source.ids) == len(source.words) and len(target.ids) == len(target.words):
        return supported
    of_source, of_target = piece_parts(source), piece_parts(target)
    rows = sum_by_word(supported.astype(float), of_target, len(target.words))
    both: NDArray[np.bool_] = sum_by_word(rows.T, of_source, len(source.words)).T > 0
    return both


def units_of_run(directory: str, config: AlignerConfig) -> tuple[tuple[Units, Units], AlignerConfig]:
    """The vocabularies of a run, and the settings with the run's languages and kinds of words.

    Raises:
        NmtError: the run cannot be opened.
    """
    run = Run.open(Path(directory))
    corpus = run.config.corpus
    source, target = words_of(corpus)
    units = run.source.with_words(source), run.target.with_words(target)
    return units, replace(config.in_languages_of(corpus), unit="piece")
