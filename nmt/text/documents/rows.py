"""Rows of pairs that documents give."""

from __future__ import annotations

from typing import NamedTuple


class PlacedRow(NamedTuple):
    """A pair, or what is wrong in place of one."""

    line: int
    """Where it begins in the document, counted from 1."""
    cells: tuple[bytes, bytes] = (b"", b"")
    problem: str = ""


def one_line(text: str) -> bytes:
    """A text on one line."""
    return " ".join(text.split()).encode("utf-8", "surrogateescape")
