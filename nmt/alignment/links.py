"""Links between the words of a pair, and gold alignments with sure and possible links.

A link is (source word, target word), 0-based.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nmt.alignment.errors import AlignmentError

Link = tuple[int, int]
"""Source word and target word."""
Links = frozenset[Link]


class Gold(NamedTuple):
    """Links drawn by people (Och and Ney 2003)."""

    sure: Links
    possible: Links
    """The possible links, the sure links among them."""


def require_in_range(gold: Gold, source: Sequence[str], target: Sequence[str], where: str) -> None:
    """Refuses gold links to words that the sentences lack.

    Args:
        gold: the links of a pair.
        source, target: the words of the pair.
        where: the place of the links, for messages.

    Raises:
        AlignmentError: names the first link out of range.
    """
    for s, t in sorted(gold.possible | gold.sure):
        if s >= len(source) or t >= len(target):
            raise AlignmentError(
                f"{where}: link {s}-{t}, counted from 0, is out of range: the pair has {len(source)} source and "
                f"{len(target)} target words; are words counted from 1, or do the links belong to other sentences?"
            )
