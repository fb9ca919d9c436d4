"""Windows of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def windows(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Consecutive lists of `size` items; the last list may be shorter."""
    window = []
    for item in items:
        window.append(item)
        if len(window) == size:
            yield window
            window = []
    if window:
        yield window
