"""Recipe `auto`: the recipe for the size of a corpus."""

from __future__ import annotations

import math

from nmt.config import CorpusConfig
from nmt.config.recipes import BESIDE, PAIRS
from nmt.text.errors import CorpusError
from nmt.text.pairs import PairReader


def choose_recipe(corpus: CorpusConfig) -> tuple[str, str]:
    """The recipe whose number of training pairs is nearest, as a ratio, to the number of the corpus.

    Returns:
        Name of the recipe, and a line on the reason and on another recipe for this size.

    Raises:
        CorpusError: the pairs cannot be read, or there are none.
    """
    pairs = sum(1 for _ in PairReader(corpus.train, corpus))
    if not pairs:
        raise CorpusError("there are no sentence pairs to train on: the text is empty")
    if not corpus.validation and pairs > corpus.held_out:
        pairs -= corpus.held_out
    name = min(PAIRS, key=lambda name: abs(math.log(max(pairs, 1) / PAIRS[name])))
    reason = f"recipe {name}: there are {pairs:,} pairs to train on, and it is made for about {PAIRS[name]:,}"
    return name, "; ".join([reason, BESIDE[name]] if name in BESIDE else [reason])
