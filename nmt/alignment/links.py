"""Links between the words of a pair, and gold alignments with sure and possible links.

A link is (source word, target word), 0-based.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nmt.errors import NmtError

Link = tuple[int, int]
Links = frozenset[Link]


class AlignmentError(NmtError):
    """An alignment that cannot be read or does not fit its words; the message says what was expected."""


class Gold(NamedTuple):
    """Links drawn by people (Och and Ney 2003): the sure ones, and the possible ones, which include the sure."""

    sure: Links
    possible: Links


def require_in_range(gold: Gold, source: Sequence[str], target: Sequence[str], where: str) -> None:
    """Refuses gold links to words that the sentences do not have.

    Raises:
        AlignmentError: names the first such link, counted from 0.
    """
    for s, t in sorted(gold.possible | gold.sure):
        if s >= len(source) or t >= len(target):
            raise AlignmentError(
                f"{where}: link {s}-{t}, counted from 0, is out of range: the pair has {len(source)} source and "
                f"{len(target)} target words; is the file counted from 1, or of other sentences?"
            )
