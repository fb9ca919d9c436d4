"""Phrases of a pair: words of the source and of the target that are linked to each other and to no other word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nmt.alignment.links import Links


class Phrase(NamedTuple):
    """Words of both sides of a pair; each end is the position behind the last word."""

    source_begin: int
    source_end: int
    target_begin: int
    target_end: int


def phrases(links: Links, longest: int) -> Iterator[Phrase]:
    """Yields the phrases of a pair that are consistent with its links (Koehn et al. 2003, section 3.1).

    A phrase begins and ends with linked source words. Its target words are the words from the first to the last that
    these are linked to, without unlinked words around them.

    Args:
        links: between the words of the pair.
        longest: number of words of the longest phrase, on either side.
    """
    targets: dict[int, list[int]] = {}
    sources: dict[int, list[int]] = {}
    for s, t in links:
        targets.setdefault(s, []).append(t)
        sources.setdefault(t, []).append(s)
    linked = sorted(targets)
    for begin in linked:
        first, last = min(targets[begin]), max(targets[begin])
        for end in (s for s in linked if begin <= s < begin + longest):
            first, last = min(first, *targets[end]), max(last, *targets[end])
            if last - first >= longest:
                break
            origins = [s for t in range(first, last + 1) for s in sources.get(t, ())]
            if begin <= min(origins) and max(origins) <= end:
                yield Phrase(begin, end + 1, first, last + 1)
