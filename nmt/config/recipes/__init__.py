"""Recipes: the settings that translated best for corpora of certain sizes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from nmt.config.checks import ConfigError


class Sizes(NamedTuple):
    """Numbers of training pairs: the number that a recipe is made for, and the fewest for which "auto" chooses it."""

    made_for: int
    fewest: int


SIZES = {
    "100": Sizes(100, 0),
    "1k": Sizes(1000, 320),
    "10k": Sizes(10_000, 1500),
    "30k": Sizes(30_000, 17_000),
    "150k": Sizes(150_000, 67_000),
    "1m": Sizes(1_000_000, 390_000),
    "10m": Sizes(10_000_000, 3_200_000),
}
"""Recipes that "auto" chooses from, in ascending order. The geometric mean of the sizes that they are made for divides
two recipes, except 1k and 10k: 1k translates better with 1,000 pairs, and 10k with 2,000."""

RECOMBINED = {"1k": 4, "10k": 4}
"""`training.recombine` with the recipes for which "auto" makes new pairs of the given ones."""

RECOMBINED_UPDATES = 1.875
"""Updates of a training with new pairs, in times of the updates without them."""

OTHERS = ("30k-transformer", "30k-tiny", "150k-transformer")
"""Recipes that "auto" never chooses."""

_UNMEASURED = "its settings are reasoned from smaller text and not measured"

_TRANSFORMER = "translates better, and its attention says less clearly which word comes from which"

BESIDE = {
    "30k": f"30k-transformer {_TRANSFORMER}; 30k-tiny is a small student for nmt distil",
    "150k": f"150k-transformer {_TRANSFORMER}",
    "1m": _UNMEASURED,
    "10m": _UNMEASURED,
}
"""Advice that "auto" prints with the recipe that it chose."""

NAMES = (*SIZES, *OTHERS)
"""The names of all recipes."""


def suited_to(pairs: int) -> str:
    """The recipe that "auto" chooses for a number of training pairs."""
    return [name for name, sizes in SIZES.items() if sizes.fewest <= pairs][-1]


def sizes_in_words(name: str) -> str:
    """The numbers of training pairs for which "auto" chooses a recipe."""
    fewest, *larger = [sizes.fewest for sizes in SIZES.values() if sizes.fewest >= SIZES[name].fewest]
    if not larger:
        return f"{fewest:,} pairs or more"
    return f"{fewest:,} to {larger[0]:,} pairs" if fewest else f"fewer than {larger[0]:,} pairs"


def path(name: str) -> Path:
    """The YAML file of a recipe.

    Raises:
        ConfigError: unknown name of a recipe.
    """
    if name not in NAMES:
        raise ConfigError(f"recipe is {name}: expected {', '.join(NAMES)}, or auto")
    return Path(__file__).with_name(f"{name}.yaml")
