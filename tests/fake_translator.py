"""A translator without a network, in place of the real one: it writes sentences in capitals, word for word.

`python -m fake_translator translate ...` is the `nmt` command with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import numpy as np

from nmt.alignment.hard_links import DEFAULT_LINKING, Linking
from nmt.alignment.word_alignment import WordAlignment
from nmt.config import RunConfig, SearchConfig
from nmt.errors import NmtError
from nmt.explaining.erasure import Erasure
from nmt.translation.erased_words import ErasureMethod

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
    pieces: tuple[str, ...] = ()
    piece_log_probabilities: tuple[float, ...] = ()


@dataclass(frozen=True)
class Constraint:
    prefix: str = ""
    phrases: tuple[str, ...] = ()


class Translator:
    config = replace(RunConfig(), search=SearchConfig(beam_size=3, length_penalty=0.5))
    searches: list[SearchConfig | None] = []
    linkings: list[Linking] = []

    fingerprint = "fake"
    interrupts = True
    loaded: list[tuple[tuple[str | Path, ...], dict[str, Any]]] = []

    @classmethod
    def load(cls, *directories: str | Path, **how: Any) -> Translator:
        cls.loaded.append((directories, how))
        return cls()

    def pieces_to_hold(self, text: str, where: str) -> list[int]:
        if not text.isascii() and "ü" not in text:
            raise NmtError(f"{where}: '{text}' has characters that the target vocabulary does not have")
        return []

    def watch(self, report: Callable[[int], None]) -> None:
        self.report = report

    def translate(
        self, sentences: Iterable[str], search: SearchConfig | None = None, linking: Linking = DEFAULT_LINKING
    ) -> Iterator[Translation]:
        return (found[0] for found in self.translate_nbest(sentences, search, 1, linking=linking))

    def translate_nbest(
        self,
        sentences: Iterable[str],
        search: SearchConfig | None = None,
        nbest: int = 1,
        constraints: Iterable[Constraint] | None = None,
        lexicon: Mapping[str, str] | None = None,
        first: int = 0,
        linking: Linking = DEFAULT_LINKING,
    ) -> Iterator[list[Translation]]:
        """The n-th best has n - 1 exclamation marks behind it, and a constraint's words are in front."""
        self.searches.append(search)
        self.linkings.append(linking)
        rest = zip(sentences, repeat(Constraint()) if constraints is None else constraints, strict=False)
        while window := list(islice(rest, WINDOW)):
            for sentence, constraint in window:
                held = " ".join([constraint.prefix, *constraint.phrases]).strip()
                best = self._translate(sentence)
                text = f"{held} {best.text}".strip()
                yield [replace(best, text=text + "!" * n, log_probability=-1.5 - n) for n in range(nbest)]

    def align(
        self, sources: Iterable[str], targets: Iterable[str], linking: Linking = DEFAULT_LINKING
    ) -> Iterator[Translation]:
        self.linkings.append(linking)
        for source, target in zip(sources, targets, strict=True):
            yield _pair(source, target, truncated=False)

    def _translate(self, sentence: str) -> Translation:
        if sentence == "interrupt" and self.interrupts:
            raise KeyboardInterrupt
        if sentence == "mendable":
            raise NmtError("a sentence\nthat can be mended")
        if sentence == "bug":
            raise ValueError("a bug")
        words = sentence.split()
        return _pair(sentence, " ".join(words[:MOST_WORDS]).upper(), truncated=len(words) > MOST_WORDS)


erasures: list[int | None] = []
"""The source lengths that `erase` was called with."""


def erase(
    translator: Translator, pairs: Iterable[Translation], method: ErasureMethod, max_source: int | None = None
) -> Iterator[tuple[Translation, Erasure]]:
    """Each word loses two nats without the word that it attends to, and 0.01 nats without the word before that one."""
    erasures.append(max_source)
    for pair in pairs:
        words = pair.alignment
        falls = 2 * words.weights + 0.01 * np.eye(*words.weights.shape, k=-1)
        yield pair, Erasure(words.source, words.target, np.full(len(words.target), -0.25), falls, method)


def symmetrized(
    pairs: Iterable[Translation], reverse: Translator, method: str, linking: Linking
) -> Iterator[Translation]:
    yield from pairs


def _pair(source: str, target: str, truncated: bool) -> Translation:
    """The n-th target word attends to the n-th source word; a blank side leaves no words on either."""
    sides = (tuple(source.split()), tuple(target.split())) if source.split() and target.split() else ((), ())
    weights = np.eye(len(sides[1]), len(sides[0]), dtype=np.float32)
    alignment = WordAlignment(*sides, weights, 1 - weights.sum(axis=1))
    pieces = (*sides[1], "</s>") if sides[1] else ()
    shares = (-1.5 / max(len(pieces), 1),) * len(pieces)
    return Translation(source, target, -1.5, -1.0, alignment, truncated, pieces, shares)


if __name__ == "__main__":
    from nmt.cli import main

    sys.modules["nmt.translation.translator"] = sys.modules["__main__"]
    sys.exit(main())
