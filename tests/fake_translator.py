"""A translator without a network: it writes sentences in capitals, word for word.

`python -m fake_translator translate ...` is the `nmt` command with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from nmt.alignment.hard_links import DEFAULT_LINKING, Linking
from nmt.alignment.word_alignment import WordAlignment
from nmt.batches.windows import windows
from nmt.config import RunConfig, SearchConfig
from nmt.errors import NmtError
from nmt.explaining import erasure
from nmt.explaining.erasure import Erasure
from nmt.text.languages import Language, Languages, Words
from nmt.text.pieces import UNK
from nmt.translation import loading, translator
from nmt.translation.aligner_links import linked
from nmt.translation.erased_words import ErasureMethod
from nmt.translation.inference.protocol import Report
from nmt.translation.request import TranslationRequest
from nmt.translation.result import Translation

CHUNK_SIZE = 4
MOST_WORDS = 5


class Vocabulary:
    """A vocabulary of ASCII letters and the letter u with two dots."""

    fingerprint = "fake"

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[10] if text.isascii() or "ü" in text else [UNK] for text in texts]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return ["a" for _ in ids]

    def index(self, piece: str) -> int:
        return 10

    def rewritten(self, sentences: Sequence[str]) -> list[tuple[str, str]]:
        return []

    def with_words(self, words: Words) -> Vocabulary:
        return self

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return ["a" for _ in ids]


class Translator(translator.Translator):
    config = replace(RunConfig(), search=SearchConfig(beam_size=3, length_penalty=0.5))
    profile = None
    inference: Any = SimpleNamespace(batches_at_once=2)
    run: Any = SimpleNamespace(
        source=Vocabulary(),
        target=Vocabulary(),
        storage=SimpleNamespace(exists=lambda name: False),
        languages=Languages(Language.of("en"), Language.of("fr")),
        directory=Path("no-such-run"),  # which keeps no training pairs
        config=RunConfig(),
    )
    searches: list[SearchConfig | None] = []
    """The search of each call's first request."""
    linkings: list[Linking] = []

    fingerprint = "fake"  # type: ignore[assignment]
    interrupts = True
    loaded: list[tuple[tuple[str | Path, ...], dict[str, Any]]] = []

    def __init__(self) -> None:
        pass

    def prepare(self, search: SearchConfig) -> None:
        pass

    def answer(
        self,
        requests: Iterable[TranslationRequest],
        linking: Linking = DEFAULT_LINKING,
        report: Report | None = None,
    ) -> Iterator[list[Translation]]:
        """The n-th best has n - 1 exclamation marks behind it, and the words of a constraint and the first form of each
        term are in front."""
        self.linkings.append(linking)
        for number, chunk in enumerate(windows(requests, self.chunk_size)):
            self.searches.extend([chunk[0].search] if number == 0 else [])
            for request in chunk:
                required = " ".join(
                    [request.prefix, *request.phrases, *(term.forms[0] for term in request.terms)]
                ).strip()
                best = self._capitals(request.text)
                text = f"{required} {best.text}".strip()
                found = [
                    replace(best, text=text + "!" * n, log_probability=-1.5 - n) for n in range(request.candidates)
                ]
                yield self._linked(translator.chosen(request, found))

    def align(
        self, sources: Iterable[str], targets: Iterable[str], linking: Linking = DEFAULT_LINKING
    ) -> Iterator[Translation]:
        self.linkings.append(linking)
        for source, target in zip(sources, targets, strict=True):
            yield self._linked([make_pair(source, target, truncated=False)])[0]

    def _linked(self, translations: list[Translation]) -> list[Translation]:
        return linked(translations, self.aligner) if self.aligner else translations

    def _capitals(self, sentence: str) -> Translation:
        if sentence == "interrupt" and self.interrupts:
            raise KeyboardInterrupt
        if sentence == "mendable":
            raise NmtError("a sentence\nthat can be mended")
        if sentence == "bug":
            raise ValueError("a bug")
        words = sentence.split()
        return make_pair(sentence, " ".join(words[:MOST_WORDS]).upper(), truncated=len(words) > MOST_WORDS)


def load_translator(*directories: str | Path, **options: Any) -> Translator:
    Translator.loaded.append((directories, options))
    return Translator()


def config_of_run(directory: str | Path) -> RunConfig:
    return Translator.config


erasures: list[int | None] = []
"""The source lengths that `erase` was called with."""


def erase(
    translator: Translator,
    pairs: Iterable[Translation],
    method: ErasureMethod,
    max_source: int | None = None,
    words: Iterable[range] = (),
) -> Iterator[tuple[Translation, Erasure]]:
    """Each word falls by two nats without its attended source word, and by 0.01 without the word on its left."""
    erasures.append(max_source)
    for pair, some in zip(pairs, chain(words, repeat(range(1000))), strict=False):
        alignment = pair.alignment
        falls = 2 * alignment.weights + 0.01 * np.eye(*alignment.weights.shape, k=-1)
        falls *= [word in some for word in range(len(alignment.source))]
        yield pair, Erasure(alignment.source, alignment.target, np.full(len(alignment.target), -0.25), falls, method)


def make_pair(source: str, target: str, truncated: bool) -> Translation:
    """The n-th target word attends to the n-th source word; a blank side leaves no words on either."""
    sides = (tuple(source.split()), tuple(target.split())) if source.split() and target.split() else ((), ())
    weights = np.eye(len(sides[1]), len(sides[0]), dtype=np.float32)
    alignment = WordAlignment(*sides, weights, 1 - weights.sum(axis=1))
    pieces = (*sides[1], "</s>") if sides[1] else ()
    shares = (-1.5 / max(len(pieces), 1),) * len(pieces)
    return Translation(source, target, -1.5, -1.0, alignment, truncated, pieces, shares, shares[:-1])


def install(set_attribute: Callable[[Any, str, Any], None]) -> None:
    """Puts the fake in place of the real translator, by `setattr` or by the one of a test's monkeypatch."""
    set_attribute(loading, "import_keras", lambda: None)
    set_attribute(loading, "load_translator", load_translator)
    set_attribute(loading, "config_of_run", config_of_run)
    set_attribute(erasure, "erase", erase)
    set_attribute(translator.Translator, "chunk_size", CHUNK_SIZE)


if __name__ == "__main__":
    import sys

    from nmt.cli import main

    install(setattr)
    sys.exit(main())
