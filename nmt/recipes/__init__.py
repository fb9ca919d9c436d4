"""Recipes: the settings that translated best for a corpus of a certain size, and which of them a corpus needs."""

from __future__ import annotations

import math
from pathlib import Path

from nmt.config import ConfigError, CorpusConfig
from nmt.text.corpus import PairReader
from nmt.text.errors import CorpusError

PAIRS = {"10k": 10_000, "30k": 30_000, "150k": 150_000}
"""Recipes, each with the number of pairs that it was made for; "auto" is one of these."""

OTHERS = ("30k-transformer",)
"""Recipes that are chosen by name alone."""

BESIDE = {"30k": "30k-transformer translates better, and its attention says less clearly which word comes from which"}
"""What "auto" tells with a recipe that it chose."""

NAMES = (*PAIRS, *OTHERS)
"""All of them."""


def path(name: str) -> Path:
    """Where the settings of a recipe are.

    Raises:
        ConfigError: there is no recipe of this name.
    """
    if name not in NAMES:
        raise ConfigError(f"recipe is {name}: expected {', '.join(NAMES)}, or auto")
    return Path(__file__).with_name(f"{name}.yaml")


def choose(corpus: CorpusConfig) -> tuple[str, str]:
    """The recipe for as many training pairs as the corpus has, by the nearest in ratio, and why it is that, with what
    else there is for as many, in one line.

    Raises:
        CorpusError: the pairs cannot be read.
    """
    pairs = sum(1 for _ in PairReader(corpus.train, corpus))
    if not pairs:
        raise CorpusError("there are no sentence pairs to train on: the text is empty")
    if not corpus.validation and pairs > corpus.held_out:
        pairs -= corpus.held_out
    name = min(PAIRS, key=lambda name: abs(math.log(max(pairs, 1) / PAIRS[name])))
    reason = f"recipe {name}: there are {pairs:,} pairs to train on, and it is made for about {PAIRS[name]:,}"
    return name, "; ".join([reason, BESIDE[name]] if name in BESIDE else [reason])
