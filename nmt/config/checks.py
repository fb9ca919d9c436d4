"""What the values of a configuration are checked by."""

from __future__ import annotations

from nmt.errors import NmtError


class ConfigError(NmtError):
    """A value that cannot be used, or two that contradict each other; the message names the field and the fix."""


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
