"""Saved configurations of older formats."""

from __future__ import annotations

from typing import Any

from nmt.config.checks import require, shown

CONFIG_FORMAT = 2
"""The format of config.json, saved with it since format 2.

It rises when an option changes its meaning, or when a new option is on by default.
"""


def upgrade_fields(saved: Any) -> Any:
    """The fields of a saved configuration, without its format. Options that are newer than the run are off.

    Raises:
        ConfigError: an unknown format, such as the format of a newer nmt.
    """
    if not isinstance(saved, dict) or not isinstance(saved.get("model"), dict):
        return saved
    model, made = dict(saved["model"]), saved.get("format", 1)
    known = isinstance(made, int) and made <= CONFIG_FORMAT
    require(
        known, f"format {shown(made)} is unknown: this nmt reads formats up to {CONFIG_FORMAT}; install a newer nmt"
    )
    if made < 2 and ("words_in_readout" not in model or model.get("architecture") == "transformer"):
        model["words_in_readout"] = False
    return {**{name: value for name, value in saved.items() if name != "format"}, "model": model}
