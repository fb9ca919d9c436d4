"""How much text there is: pairs, different source sentences, and their length in pieces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from nmt.text.pairs import Pair

COUNTED_SOURCES = 10_000
"""Different source sentences that are counted; a text of more is never short of them."""

PIECES_PER_WORD = 1.3
"""Pieces of a word of English, French and German text at the usual sizes of a vocabulary."""

CHARACTERS_PER_PIECE = 4
"""Characters of a piece at most, which counts in text without spaces."""


class TextSize(NamedTuple):
    """What `measure_text` counts."""

    pairs: int
    sources: int
    """Different source sentences, at most `COUNTED_SOURCES`."""
    pieces: int
    """Rough number of pieces of the longer sides of all pairs, their ends included: what batches are cut by."""


def measure_text(pairs: Iterable[Pair]) -> TextSize:
    """Counts pairs in one reading, with memory for `COUNTED_SOURCES` hashes."""
    count, pieces, sources = 0, 0.0, set[int]()
    for pair in pairs:
        count += 1
        pieces += 1 + max(_pieces(pair.source), _pieces(pair.target))
        if len(sources) < COUNTED_SOURCES:
            sources.add(hash(pair.source))
    return TextSize(count, len(sources), round(pieces))


def _pieces(text: str) -> float:
    return max(PIECES_PER_WORD * len(text.split()), len(text) / CHARACTERS_PER_PIECE)
