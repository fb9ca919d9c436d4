"""What the values of a configuration are checked by."""

from __future__ import annotations

import re
from typing import Any

from nmt.errors import NmtError

_POWER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+")


class ConfigError(NmtError):
    """A value that cannot be used, or two that contradict each other; the message names the field and the fix."""


def as_number(value: Any) -> Any:
    """The number that a text such as 1e-4 is, which YAML takes for text where no point is in it; else the value."""
    return float(value) if isinstance(value, str) and _POWER.fullmatch(value) else value


def require(condition: bool, message: str) -> None:
    """Raises `ConfigError` where the condition does not hold."""
    if not condition:
        raise ConfigError(message)


def require_rate(owner: object, *names: str) -> None:
    """The fields of these names are shares: from 0 up to, not including, 1."""
    for name in names:
        value = getattr(owner, name)
        require(0 <= value < 1, f"{name} is {value}: expected a number from 0 up to, not including, 1")


def require_positive(owner: object, *names: str) -> None:
    """The fields of these names are above 0."""
    for name in names:
        value = getattr(owner, name)
        require(value > 0, f"{name} is {value}: expected more than 0")
