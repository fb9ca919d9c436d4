"""The reading direction of words, from their characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable


def right_to_left(words: Iterable[str]) -> bool:
    """Whether most letters belong to scripts that run from right to left, such as Arabic and Hebrew."""
    kinds = [unicodedata.bidirectional(character) for word in words for character in word]
    return sum(kind in ("R", "AL") for kind in kinds) > kinds.count("L")
