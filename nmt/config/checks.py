"""Checks of the values of a configuration."""

from __future__ import annotations

import re
from typing import Any

from nmt.errors import NmtError

_POWER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+")


class ConfigError(NmtError):
    """A refused value, or two that contradict each other; the message names the field and the fix."""


def as_number(value: Any) -> Any:
    """A text such as 1e-4 as a number; other values as they are.

    YAML reads a number with an exponent as text if it has no point.
    """
    return float(value) if isinstance(value, str) and _POWER.fullmatch(value) else value


def require(condition: bool, message: str) -> None:
    """Raises `ConfigError` if the condition is false."""
    if not condition:
        raise ConfigError(message)


def require_rate(owner: object, *names: str) -> None:
    """Requires that the fields of these names are at least 0 and less than 1."""
    for name in names:
        value = getattr(owner, name)
        require(0 <= value < 1, f"{name} is {value}: expected a number from 0 up to, not including, 1")


def require_positive(owner: object, *names: str) -> None:
    """Requires that the fields of these names are greater than 0."""
    for name in names:
        value = getattr(owner, name)
        require(value > 0, f"{name} is {value}: expected more than 0")
