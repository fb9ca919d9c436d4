"""Symmetrizing: one alignment from the alignments of both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, get_args

from nmt.alignment.errors import AlignmentError
from nmt.alignment.links import Link, Links

Symmetrization = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]


def symmetrize(forward: Links, backward: Links, method: Symmetrization) -> Links:
    """One alignment from the alignments of two directions (Och and Ney 2003; grow-diag-final: Koehn et al. 2005).

    `grow-diag` begins with the intersection. It adds links of the union that are next to an added link, straight or
    diagonal, and have an unlinked word. `-final` then adds the links of either direction with an unlinked word.
    `-final-and` adds those of either direction with two unlinked words. Links are visited in sorted order, so the
    result depends on the two sets alone.

    Args:
        forward: links of the source-target model.
        backward: links of the target-source model, reversed to (source word, target word).
        method: the way of merging.

    Raises:
        AlignmentError: the method is unknown.
    """
    if method not in get_args(Symmetrization):
        raise AlignmentError(f"cannot symmetrize by '{method}': expected {', '.join(get_args(Symmetrization))}")
    if method == "intersection":
        return forward & backward
    if method == "union":
        return forward | backward
    made = _GrowingAlignment(set(forward & backward))
    _grow(made, forward | backward)
    if method != "grow-diag":
        enough = all if method == "grow-diag-final-and" else any
        for direction in (forward, backward):
            for link in sorted(direction - made.links):
                if made.leaves_free(link, enough):
                    made.add(link)
    return frozenset(made.links)


class _GrowingAlignment:
    """A growing set of links, with the words that have a link."""

    def __init__(self, links: set[Link]) -> None:
        self.links = links
        self._sources, self._targets = {s for s, _ in links}, {t for _, t in links}

    def add(self, link: Link) -> None:
        self.links.add(link)
        self._sources.add(link[0])
        self._targets.add(link[1])

    def leaves_free(self, link: Link, enough: Callable[[Iterable[bool]], bool]) -> bool:
        """Whether any (or all) of a link's two words are unlinked."""
        return enough((link[0] not in self._sources, link[1] not in self._targets))


def _grow(made: _GrowingAlignment, candidates: Links) -> None:
    """Adds candidates next to a link until no candidate is left."""
    grown = True
    while grown:
        grown = False
        for s, t in sorted(made.links):
            around = ((s + i, t + j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
            for link in around:
                if link in candidates and link not in made.links and made.leaves_free(link, any):
                    made.add(link)
                    grown = True
