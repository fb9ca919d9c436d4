"""Recipes: the settings that translated best for corpora of certain sizes."""

from __future__ import annotations

from pathlib import Path

from nmt.config.checks import ConfigError

PAIRS = {
    "100": 100,
    "1k": 1000,
    "10k": 10_000,
    "30k": 30_000,
    "150k": 150_000,
    "1m": 1_000_000,
    "10m": 10_000_000,
}
"""Recipes that "auto" chooses from, each with the number of training pairs that it is made for."""

FEWEST_PAIRS = {
    "100": 0,
    "1k": 320,
    "10k": 1500,
    "30k": 17_000,
    "150k": 67_000,
    "1m": 390_000,
    "10m": 3_200_000,
}
"""Fewest training pairs for which "auto" chooses each recipe, in ascending order. The geometric mean of their `PAIRS`
divides two recipes, except 1k and 10k: 1k translates better with 1,000 pairs, and 10k with 2,000."""

OTHERS = ("30k-transformer", "30k-tiny")
"""Recipes that "auto" never chooses."""

_UNMEASURED = "its settings are reasoned from smaller text and not measured"

BESIDE = {
    "30k": "30k-transformer translates better, and its attention says less clearly which word comes from which; "
    "30k-tiny is a small student for nmt distil",
    "1m": _UNMEASURED,
    "10m": _UNMEASURED,
}
"""Advice that "auto" prints with the recipe that it chose."""

NAMES = (*PAIRS, *OTHERS)
"""The names of all recipes."""


def suited_to(pairs: int) -> str:
    """The recipe that "auto" chooses for a number of training pairs."""
    return [name for name, fewest in FEWEST_PAIRS.items() if fewest <= pairs][-1]


def sizes(name: str) -> str:
    """The numbers of training pairs for which "auto" chooses a recipe, in words."""
    fewest, *larger = [count for count in FEWEST_PAIRS.values() if count >= FEWEST_PAIRS[name]]
    if not larger:
        return f"{fewest:,} pairs or more"
    return f"{fewest:,} to {larger[0]:,}" if fewest else f"fewer than {larger[0]:,}"


def path(name: str) -> Path:
    """The YAML file of a recipe.

    Raises:
        ConfigError: unknown name of a recipe.
    """
    if name not in NAMES:
        raise ConfigError(f"recipe is {name}: expected {', '.join(NAMES)}, or auto")
    return Path(__file__).with_name(f"{name}.yaml")
