"""Faults: the reasons for dropping a pair."""

from __future__ import annotations

from typing import NamedTuple

RULE_NAMES = (
    "malformed",
    "invalid",
    "empty",
    "short",
    "long",
    "ratio",
    "identical",
    "script",
    "language",
    "spelling",
    "numbers",
    "duplicate",
    "unusual",
    "unlikely",
)
"""The rules in the order in which they are applied. The last two need a model."""


class Fault(NamedTuple):
    """The reason for dropping a pair."""

    rule: str
    """One of `RULE_NAMES`."""
    value: str | float
    """The measured value, the side, or the problem of a row that is no pair."""
    threshold: float | None = None
    """The limit of the measured value; None for a rule without one."""
