"""What every fuzz target expects: content is read, or refused in an error that a user reads as one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from nmt.errors import NmtError

T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """A parser under test.

    Attributes:
        check: parses the bytes, in a directory that it may write to; raises for any failure.
        seeds: makes accepted inputs to begin with.
    """

    check: Callable[[bytes, Path], None]
    seeds: Callable[[], Sequence[bytes]]


def target(check: Callable[[bytes, Path], None], *seeds: bytes) -> Target:
    """A target with these seeds."""
    return Target(check, lambda: seeds)


def read_or_refused(call: Callable[..., T], *arguments: object) -> T | None:
    """The result of a call; None if it is refused as a user's mistake."""
    try:
        return call(*arguments)
    except NmtError as error:
        assert str(error).strip(), "an error without a message"
        return None
