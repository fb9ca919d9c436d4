"""Errors of evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nmt.errors import NmtError

if TYPE_CHECKING:
    pass


class EvaluationError(NmtError):
    """Something that cannot be scored; the message says what was expected."""


def require_equal_counts(first: Sequence[object], second: Sequence[object], ours: str, theirs: str) -> None:
    if len(first) != len(second):
        raise EvaluationError(f"{len(first)} {ours} but {len(second)} {theirs}: expected as many of both, in order")
