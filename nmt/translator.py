"""Strings through a trained run: translate them, or align given pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from nmt.alignment import PLAIN, Linking, WordAlignment, word_alignment
from nmt.config import SearchConfig
from nmt.corpus import CorpusError
from nmt.engine import assign_arrays
from nmt.inference import Hypothesis, Inference, windows
from nmt.links import Symmetrization, symmetrize
from nmt.model import Seq2Seq
from nmt.run import Run, load_arrays
from nmt.tokenizer import Words

WINDOW = 500
"""Sentences that are sorted by length together; results come a window at a time."""


EMPTY = Hypothesis([], 0.0, 0.0, np.zeros((0, 1), np.float32), True)
"""Of a sentence with nothing to translate."""


@dataclass(frozen=True)
class Translation:
    """A source sentence, its translation (searched for, or given), and which source words each word came from."""

    source: str
    text: str
    log_probability: float
    """Of the target's pieces and its end, in nats."""
    score: float
    """Log-probability over length penalty; what the search ranked by."""
    alignment: WordAlignment
    truncated: bool = False
    """Whether the source was longer than `search.max_source` pieces and was cut there."""


class Translator:
    """A trained model with its vocabularies.

    Args:
        run: opened run directory.
        model: its model, with the weights to use.
    """

    def __init__(self, run: Run, model: Seq2Seq) -> None:
        self.run, self.config = run, run.config
        self._inference = Inference(model)

    @classmethod
    def load(cls, directory: str | Path) -> Translator:
        """The best weights of a run.

        Raises:
            RunError: the directory is not a trained run.
        """
        run = Run.open(directory)
        arrays = load_arrays(run.best)
        # Dropout and its rates do not matter here, and neither does the precision of training.
        model = Seq2Seq(run.config.model, run.source.size, run.target.size)
        model.build()
        assign_arrays(model.trainable_variables, arrays, str(run.best))
        return cls(run, model)

    def translate(
        self, sentences: Iterable[str], search: SearchConfig | None = None, linking: Linking = PLAIN
    ) -> Iterator[Translation]:
        """Translations in the order of the sentences, one for each; a blank sentence's is blank.

        The sentences may come from a stream: they are read a window of 500 at a time.

        Args:
            sentences: source sentences.
            search: how to search; None: as the run's configuration says.
            linking: how alignments are read off the attention.
        """
        config = search or self.config.search
        for window in windows(sentences, WINDOW):
            sources = [self.run.source.segment(sentence) for sentence in window]
            read = [source.ids[: config.max_source] for source in sources if source.ids]
            found = iter(self._inference.translate(read, config))
            for source in sources:
                hypothesis = next(found) if source.ids else EMPTY
                yield _translation(source, self.run.target.join(hypothesis.ids), hypothesis, config.max_source, linking)

    def align(self, sources: Iterable[str], targets: Iterable[str], linking: Linking = PLAIN) -> Iterator[Translation]:
        """Given pairs, with their log-probability and their alignment under teacher forcing, in order.

        A pair with a blank side has no links and log-probability 0.

        Raises:
            CorpusError: one side has more sentences than the other.
        """
        limit = self.config.search.max_source
        for window in windows(zip_longest(sources, targets), WINDOW):
            if any(None in pair for pair in window):
                raise CorpusError("one side has more sentences than the other: give as many targets as sources")
            pairs = [(self.run.source.segment(source), self.run.target.segment(target)) for source, target in window]
            full = [(source.ids[:limit], target.ids) for source, target in pairs if source.ids and target.ids]
            scored = iter(self._inference.score([source for source, _ in full], [target for _, target in full]))
            for source, target in pairs:
                hypothesis = next(scored) if source.ids and target.ids else EMPTY
                yield _translation(source, target, hypothesis, limit, linking)


def symmetrized(
    pairs: Iterable[Translation],
    reverse: Translator,
    method: Symmetrization = "grow-diag-final-and",
    linking: Linking = PLAIN,
) -> Iterator[Translation]:
    """The same pairs, their links made from those of both directions; weights stay those of the first.

    Args:
        pairs: translations or aligned pairs of the source-target model; may be a stream.
        reverse: the model of the opposite direction, which aligns each pair turned around.
        method: see `links.symmetrize`.
        linking: how the opposite direction's links are read off its attention.
    """
    for window in windows(pairs, WINDOW):
        turned = reverse.align([pair.text for pair in window], [pair.source for pair in window], linking)
        for pair, back in zip(window, turned, strict=True):
            backward = frozenset((s, t) for t, s in back.alignment.links)
            links = symmetrize(pair.alignment.links, backward, method)
            yield replace(pair, alignment=replace(pair.alignment, links=links))


def _translation(source: Words, target: Words, hypothesis: Hypothesis, limit: int, linking: Linking) -> Translation:
    """The result for one sentence: soft attention between pieces becomes attention between words."""
    if hypothesis is EMPTY or not target.words:
        shape = len(target.words), len(source.words)
        alignment = WordAlignment(
            tuple(source.words), tuple(target.words), np.zeros(shape, np.float32), np.zeros(shape[0], np.float32)
        )
    else:
        read = source._replace(word_of_piece=source.word_of_piece[:limit])
        alignment = word_alignment(hypothesis.weights, read, target, linking)
    return Translation(
        source=source.text,
        text=target.text,
        log_probability=hypothesis.log_probability,
        score=hypothesis.score,
        alignment=alignment,
        truncated=len(source.ids) > limit,
    )
