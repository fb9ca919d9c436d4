"""Checks of the values of a configuration."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from nmt.errors import NmtError

_POWER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+")


LARGEST = 2**63 - 1
"""The largest whole number that any field takes."""

TOO_LONG = float("inf")
"""In place of a whole number with more digits than Python converts; no other infinite number is this object."""

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 200
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 20


def changed_fields(config: Any, names: Iterable[str]) -> list[str]:
    """Those of some fields, by dotted names, that differ from their defaults."""
    default = type(config)()
    return [name for name in names if attrgetter(name)(config) != attrgetter(name)(default)]


class ConfigError(NmtError):
    """A refused value, or two that contradict each other; the message names the field and the fix."""


def as_number(value: Any) -> Any:
    """A text such as 1e-4 as a number; other values as they are.

    YAML reads a number with an exponent as text if it has no point.
    """
    return float(value) if isinstance(value, str) and _POWER.fullmatch(value) else value


def as_whole_number(text: str) -> int | float:
    """Digits as a number; `TOO_LONG` for thousands of digits."""
    try:
        return int(text)
    except ValueError:
        return TOO_LONG


def shown(value: Any) -> str:
    """A value from a file or a command line as a message shows it, shortened if it is very long."""
    if value is TOO_LONG:
        return "a number of thousands of digits"
    if type(value) is int and abs(value) > LARGEST:
        return f"a number of about {value.bit_length() * 3 // 10 + 1} digits"
    return _SHORT.repr(value)


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


def require_at_most(owner: object, **limits: float) -> None:
    """Requires that the fields of these names are at most their limits, which no sensible setting exceeds."""
    for name, limit in limits.items():
        value = getattr(owner, name)
        require(value <= limit, f"{name} is {shown(value)}: expected {limit:,} at most")
