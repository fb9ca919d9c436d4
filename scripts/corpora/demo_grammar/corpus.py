"""From single derivations to the four sets: reserved combinations, unseen test sentences, files."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import modifiers, predicates, sentences  # noqa: F401  (importing registers their productions)
from .derivation import Blocked, Derivation
from .lexicon import Lexicon
from .words import Pair

SHORTEST, LONGEST = 4, 18  # English tokens
RESERVED_PER_MILLE = 30
SEEN_AT_LEAST = 5  # how often train shows every word form of the other sets
PATIENCE = 40  # rejected sentences per missing one before giving up


class CorpusError(Exception):
    """The sizes cannot be met."""


@dataclass
class Corpus:
    """The four sets."""

    train: list[Pair] = field(default_factory=list)
    validation: list[Pair] = field(default_factory=list)
    test: list[Pair] = field(default_factory=list)
    combinations: list[Pair] = field(default_factory=list)

    def sets(self) -> dict[str, list[Pair]]:
        """Sets by name."""
        return dict(vars(self))

    def write(self, folder: Path) -> None:
        """Write ``NAME.en``, ``NAME.fr`` and ``NAME.align`` for every set."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, pairs in self.sets().items():
            columns = {"en": [p.english for p in pairs], "fr": [p.french for p in pairs]}
            for suffix, lines in {**columns, "align": [p.pharaoh() for p in pairs]}.items():
                text = "".join(line + "\n" for line in lines)
                (folder / f"{name}.{suffix}").write_bytes(text.encode("utf-8"))


def is_reserved(combination: tuple[str, str, str], seed: int) -> bool:
    """Whether a pair of lemmas is kept for the set ``combinations``."""
    key = "|".join((str(seed), *combination)).encode("utf-8")
    return int.from_bytes(hashlib.sha256(key).digest()[:4], "big") % 1000 < RESERVED_PER_MILLE


def derive(lexicon: Lexicon, rng: random.Random) -> tuple[Pair, Derivation]:
    """The next sentence of acceptable length, with the derivation that made it."""
    while True:
        derivation = Derivation(lexicon, rng)
        try:
            pair = derivation.expand("Sentence")
        except Blocked:
            continue
        if SHORTEST <= len(pair.english.split()) <= LONGEST:
            return pair, derivation


def stream(lexicon: Lexicon, seed: int) -> Iterator[tuple[Pair, bool]]:
    """Endless pairs without repetition on either side. The flag says whether a pair combines reserved lemmas."""
    rng = random.Random(seed)
    seen: set[str] = set()
    while True:
        pair, derivation = derive(lexicon, rng)
        if pair.english in seen or "fr:" + pair.french in seen:
            continue
        seen.update((pair.english, "fr:" + pair.french))
        yield pair, any(is_reserved(combination, seed) for combination in derivation.combinations)


def forms(pair: Pair) -> list[str]:
    """The word forms of a pair, marked with their language."""
    return [f"en:{word}" for word in pair.english.split()] + [f"fr:{word}" for word in pair.french.split()]


def make_corpus(lexicon: Lexicon, train: int, validation: int, test: int, combinations: int, seed: int) -> Corpus:
    """Fill train first, then take unseen sentences of known words for the other sets."""
    source, corpus = stream(lexicon, seed), Corpus()
    held_back: list[Pair] = []
    while len(corpus.train) < train:
        pair, reserved = next(source)
        (held_back if reserved else corpus.train).append(pair)
    count = Counter(form for pair in corpus.train for form in forms(pair))

    def known(pair: Pair) -> bool:
        return all(count[form] >= SEEN_AT_LEAST for form in forms(pair))

    corpus.combinations = [pair for pair in held_back if known(pair)][:combinations]
    plain: list[Pair] = []
    for _ in range(PATIENCE * (validation + test + combinations) + 1):
        if len(plain) == validation + test and len(corpus.combinations) == combinations:
            break
        pair, reserved = next(source)
        chosen, size = (corpus.combinations, combinations) if reserved else (plain, validation + test)
        if len(chosen) < size and known(pair):
            chosen.append(pair)
    else:
        raise CorpusError(f"{train} training pairs show too few word forms often enough; raise --train")
    corpus.validation, corpus.test = plain[:validation], plain[validation:]
    return corpus
