"""Errors of evaluation."""

from __future__ import annotations

from collections.abc import Sequence

from nmt.errors import NmtError


class EvaluationError(NmtError):
    """Texts or alignments that cannot be scored; the message names the expected value."""


def require_equal_counts(first: Sequence[object], second: Sequence[object], ours: str, theirs: str) -> None:
    """Refuses sequences of different lengths; `ours` and `theirs` name them in the message."""
    if len(first) != len(second):
        raise EvaluationError(f"{len(first)} {ours} but {len(second)} {theirs}: expected equal numbers, in one order")
