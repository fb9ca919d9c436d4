"""Patterns of the package regex, in which marks such as vowel signs belong to words; in those of re they do not."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def pattern(expression: str) -> Any:
    """A compiled pattern. regex is imported on first use."""
    import regex  # type: ignore[import-untyped]

    return regex.compile(expression)
