"""The result of a translation, a scored pair or an alignment: pieces become words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nmt import notebook
from nmt.alignment.hard_links import Linking
from nmt.alignment.pieces_to_words import piece_parts, sum_by_word, word_alignment
from nmt.alignment.word_alignment import WordAlignment
from nmt.text.pieces import EOS
from nmt.text.tokenizer import SegmentedSentence, Tokenizer
from nmt.translation.inference.protocol import Hypothesis

EMPTY_HYPOTHESIS = Hypothesis([], 0.0, 0.0, np.zeros((0, 1), np.float32), True, np.zeros(0, np.float32))
"""The hypothesis of an empty sentence."""


@dataclass(frozen=True)
class Translation:
    """A source sentence, its translation, and the source words that each target word came from.

    The translation was found by a search, or given and scored.

    Example:
        >>> translator = nmt.Translator.load("saved_models/demo")
        >>> (given,) = translator.align(["It is hot ."], ["Il fait chaud ."])
        >>> given.alignment.weights.shape, given.log_probability < 0
        ((4, 4), True)
    """

    source: str
    text: str
    log_probability: float
    """Sum over the target's pieces and its end, in nats."""
    score: float
    """The search's ranking; for a given translation its log-probability."""
    alignment: WordAlignment
    """Attention and links between the words that the model read. If `truncated`, these are the first words of both
    sides."""
    truncated: bool = False
    """Whether the source was cut at `search.max_source` pieces or words, or a given target at the length of the longest
    translation of such a source."""
    pieces: tuple[str, ...] = ()
    """The target's pieces as SentencePiece writes them, and `</s>` if the sentence ended by itself."""
    piece_log_probabilities: tuple[float, ...] = ()
    """Log-probability of each of `pieces`, in nats."""
    word_log_probabilities: tuple[float, ...] = ()
    """Log-probability of each target word of the alignment, in nats. It is the sum over its pieces, and 0 for a word
    without pieces. A piece that covers several words counts by its share in the word."""

    def _repr_html_(self) -> str:
        """The translation as a notebook shows it; its attention opens by a click."""
        line = f"{notebook.sentence(self.text)} <small>log-probability {self.log_probability:.2f}</small>"
        attention = notebook.details("attention", self.alignment._repr_html_())
        return notebook.stacked([notebook.sentence(self.source), line, attention])


class TranslationList(list[Translation]):
    """The translations of one sentence, best first: a list that notebooks show."""

    def _repr_html_(self) -> str:
        """The source, then the translations with their attention."""
        parts = [notebook.sentence(self[0].source)] if self else []
        for number, one in enumerate(self, start=1):
            line = f"{number}. {notebook.sentence(one.text)} <small>log-probability {one.log_probability:.2f}</small>"
            parts += [line, notebook.details("attention", one.alignment._repr_html_())]
        return notebook.stacked(parts)


def make_translation(
    source: SegmentedSentence,
    target: SegmentedSentence,
    hypothesis: Hypothesis,
    vocabulary: Tokenizer,
    linking: Linking,
) -> Translation:
    """The translation in a hypothesis; attention between pieces becomes attention between words.

    Args:
        source, target: the sentences, cut at the pieces that the hypothesis covers (see `cut_words`).
        vocabulary: the target's.
        linking: how hard links follow from attention.
    """
    values = hypothesis.piece_log_probabilities
    ended = [EOS] * (len(values) - len(hypothesis.ids))
    return Translation(
        source=source.text,
        text=target.text,
        log_probability=hypothesis.log_probability,
        score=hypothesis.score,
        alignment=_alignment(source, target, hypothesis, linking),
        truncated=source.cut or target.cut,
        pieces=tuple(vocabulary.pieces([*hypothesis.ids, *ended])),
        piece_log_probabilities=tuple(values.tolist()),
        word_log_probabilities=_of_words(hypothesis, target),
    )


def _of_words(hypothesis: Hypothesis, target: SegmentedSentence) -> tuple[float, ...]:
    """The log-probability of each target word."""
    if hypothesis is EMPTY_HYPOTHESIS or not target.words:
        return (0.0,) * len(target.words)
    values = hypothesis.piece_log_probabilities[: len(target.word_of_piece)].astype(float)
    return tuple(sum_by_word(values, piece_parts(target), len(target.words)).tolist())


def _alignment(
    source: SegmentedSentence,
    target: SegmentedSentence,
    hypothesis: Hypothesis,
    linking: Linking,
) -> WordAlignment:
    if hypothesis is EMPTY_HYPOTHESIS or not target.words:
        shape = len(target.words), len(source.words)
        weights, rest = np.zeros(shape, np.float32), np.zeros(shape[0], np.float32)
        return WordAlignment(tuple(source.words), tuple(target.words), weights, rest)
    return word_alignment(hypothesis.weights, source, target, linking)
