"""Sentences of the demo corpus, their vocabularies and their profile."""

from __future__ import annotations

from functools import cache
from itertools import islice
from pathlib import Path

from nmt.config import VocabularyConfig
from nmt.text.profile import TextProfile
from nmt.text.swapped_sides import Vocabularies, measure_profile
from nmt.text.tokenizer import Tokenizer

DEMO = Path(__file__).parents[1] / "data" / "demo"


def lines(name: str, count: int) -> list[str]:
    """The first lines of a file of the demo corpus."""
    with open(DEMO / name, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in islice(file, count)]


@cache
def vocabularies(shared: bool = True) -> Vocabularies:
    """Learned from 1,500 pairs."""
    source, target = lines("train.en", 1500), lines("train.fr", 1500)
    if shared:
        both = Tokenizer.train(source + target, VocabularyConfig(type="bpe", size=1000))
        return Vocabularies(both, both)
    settings = VocabularyConfig(type="bpe", size=600, shared=False)
    return Vocabularies(Tokenizer.train(source, settings), Tokenizer.train(target, settings))


@cache
def profile(shared: bool = True) -> TextProfile:
    """The profile of those pairs."""
    pairs = list(zip(lines("train.en", 1500), lines("train.fr", 1500), strict=True))
    return measure_profile(pairs, vocabularies(shared))
