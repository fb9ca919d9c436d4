"""Errors of alignments."""

from __future__ import annotations

from nmt.errors import NmtError


class AlignmentError(NmtError):
    """An alignment that cannot be read or does not fit its words; the message names the expected value."""


def require(condition: bool, message: str) -> None:
    """Raises `AlignmentError` with this message unless the condition holds."""
    if not condition:
        raise AlignmentError(message)
