"""A translator without a network, in place of `nmt.translator`: it writes sentences in capitals, word for word.

`python -m fake_translator translate ...` is the `nmt` command with it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from nmt.alignment import PLAIN, Linking, WordAlignment
from nmt.config import RunConfig, SearchConfig
from nmt.errors import NmtError

WINDOW = 4
MOST_WORDS = 5


@dataclass(frozen=True)
class Translation:
    source: str
    text: str
    log_probability: float
    score: float
    alignment: WordAlignment
    truncated: bool


class Translator:
    config = replace(RunConfig(), search=SearchConfig(beam_size=3, length_penalty=0.5))
    searches: list[SearchConfig | None] = []
    linkings: list[Linking] = []

    @classmethod
    def load(cls, directory: str | Path) -> Translator:
        return cls()

    def translate(
        self, sentences: Iterable[str], search: SearchConfig | None = None, linking: Linking = PLAIN
    ) -> Iterator[Translation]:
        self.searches.append(search)
        self.linkings.append(linking)
        rest = iter(sentences)
        while window := list(islice(rest, WINDOW)):
            for sentence in window:
                yield self._translate(sentence)

    def align(self, sources: Iterable[str], targets: Iterable[str], linking: Linking = PLAIN) -> Iterator[Translation]:
        self.linkings.append(linking)
        for source, target in zip(sources, targets, strict=True):
            yield _pair(source, target, truncated=False)

    def _translate(self, sentence: str) -> Translation:
        if sentence == "interrupt":
            raise KeyboardInterrupt
        if sentence == "mendable":
            raise NmtError("a sentence\nthat can be mended")
        if sentence == "bug":
            raise ValueError("a bug")
        words = sentence.split()
        return _pair(sentence, " ".join(words[:MOST_WORDS]).upper(), truncated=len(words) > MOST_WORDS)


def _pair(source: str, target: str, truncated: bool) -> Translation:
    """The n-th target word attends to the n-th source word; a blank side leaves no words on either."""
    sides = (tuple(source.split()), tuple(target.split())) if source.split() and target.split() else ((), ())
    weights = np.eye(len(sides[1]), len(sides[0]), dtype=np.float32)
    alignment = WordAlignment(*sides, weights, 1 - weights.sum(axis=1))
    return Translation(source, target, -1.5, -1.0, alignment, truncated)


if __name__ == "__main__":
    from nmt.cli import main

    sys.modules["nmt.translator"] = sys.modules["__main__"]
    sys.exit(main())
