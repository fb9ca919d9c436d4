"""Recipes: the settings that translated best for a corpus of a certain size, and which of them a corpus needs."""

from __future__ import annotations

from pathlib import Path

from nmt.config.checks import ConfigError

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
