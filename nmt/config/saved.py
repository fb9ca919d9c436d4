"""Saved configurations of earlier formats."""

from __future__ import annotations

from typing import Any

from nmt.config.checks import require

CONFIG_FORMAT = 2
"""Of config.json; to be raised where an option that is new, or means more, is on by default. (1 was not written.)"""


def upgrade_fields(saved: Any) -> Any:
    """A saved configuration without its format, and with those options off that the run was made before.

    Raises:
        ConfigError: a format that is not known, such as of a newer nmt.
    """
    if not isinstance(saved, dict) or not isinstance(saved.get("model"), dict):
        return saved
    model, made = dict(saved["model"]), saved.get("format", 1)
    known = isinstance(made, int) and made <= CONFIG_FORMAT
    require(known, f"format {made} is none of this nmt's, which knows {CONFIG_FORMAT}: it may be of a newer one")
    if made < 2 and ("words_in_readout" not in model or model.get("architecture") == "transformer"):
        model["words_in_readout"] = False
    return {**{name: value for name, value in saved.items() if name != "format"}, "model": model}
