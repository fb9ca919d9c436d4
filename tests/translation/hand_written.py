"""A hand-written implementation of the inference protocol, without a network: it copies the source's pieces.

`python hand_written.py` translates with it, and prints the backends that the process has loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nmt.config import RunConfig, SearchConfig, VocabularyConfig
from nmt.run.directory import Run
from nmt.text.tokenizer import Tokenizer
from nmt.translation.inference.protocol import Hypothesis, PieceConstraint, Report
from nmt.translation.short_list import ShortList

LINES = ["ba ki ma", "le me", "ko ba", "ki ki le", "ma"]


class Copier:
    """The n-th hypothesis is the prefix, the first form of each phrase, the source, and the source's last piece n
    times more.

    Each of its pieces attends to the source piece at its own position, and to the end of sentence behind that.
    """

    fingerprint = "copier"

    def __init__(self) -> None:
        self.calls: list[tuple[int, SearchConfig, int, bool]] = []
        """Sentences, search, n-best and whether there are constraints, for each call of `find`."""
        self.ids: list[int] = []
        """The sentence ids of all calls."""

    def find(
        self,
        sources: Sequence[Sequence[int]],
        search: SearchConfig,
        nbest: int = 1,
        constraints: Sequence[PieceConstraint] | None = None,
        suppressed: Sequence[int] = (),
        sentence_ids: Sequence[int] | np.ndarray | None = None,
        short_list: ShortList | None = None,
        report: Report | None = None,
    ) -> list[list[Hypothesis]]:
        self.calls.append((len(sources), search, nbest, constraints is not None))
        self.ids += [] if sentence_ids is None else [int(index) for index in sentence_ids]
        found = []
        for row, source in enumerate(sources):
            constraint = constraints[row] if constraints is not None else PieceConstraint()
            start = [*constraint.prefix, *(piece for forms in constraint.phrases for piece in forms[0].pieces)]
            found.append([self._hypothesis(source, [*start, *source, *[source[-1]] * n]) for n in range(nbest)])
        if report is not None:
            report(len(sources))
        return found

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], batch_tokens: int = 4000
    ) -> list[Hypothesis]:
        return [self._hypothesis(source, target) for source, target in zip(sources, targets, strict=True)]

    def _hypothesis(self, source: Sequence[int], target: Sequence[int]) -> Hypothesis:
        weights = np.zeros((len(target) + 1, len(source) + 1), np.float32)
        for step in range(len(weights)):
            weights[step, min(step, len(source))] = 1
        values = np.full(len(weights), -0.5, np.float32)
        return Hypothesis(list(target), float(values.sum()), float(values.mean()), weights, True, values)


def make_run(**search: Any) -> Run:
    """A run in memory, whose vocabulary has a piece for each word."""
    vocabulary = VocabularyConfig(type="word", size=100)
    tokenizer = Tokenizer.train(LINES * 20, vocabulary)
    config = RunConfig(vocabulary=vocabulary, search=SearchConfig(**search))
    return Run(Path("nowhere"), config, tokenizer, tokenizer)


if __name__ == "__main__":
    import sys

    from nmt.translation.translator import Translator

    translator = Translator(make_run(), Copier())
    print([translation.text for translation in translator.translate(LINES)])
    print([pair.alignment.pharaoh() for pair in translator.align(LINES[:2], LINES[:2])])
    print(sorted({name.partition(".")[0] for name in sys.modules} & {"keras", "tensorflow", "jax", "torch"}))
