"""Alignments of both directions merged into one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, get_args

from nmt.alignment.links import AlignmentError, Link, Links

Symmetrization = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]


def symmetrize(forward: Links, backward: Links, method: Symmetrization) -> Links:
    """One alignment out of two directions' (Och and Ney 2003; grow-diag-final: Koehn et al. 2005).

    `grow-diag` begins with the intersection and adds links of the union that are beside, above or diagonal to one that
    is there and have a word without a link; `-final` adds what links of either direction have a word without a link;
    `-final-and` only those where both words are. Links are visited in their order, so the result is a function of the
    two sets.

    Args:
        forward: of the source-target model.
        backward: of the target-source model, turned around: (source word, target word) too.

    Raises:
        AlignmentError: a method that is not known.
    """
    if method not in get_args(Symmetrization):
        raise AlignmentError(f"'{method}' is no way to symmetrize: expected {', '.join(get_args(Symmetrization))}")
    if method == "intersection":
        return forward & backward
    if method == "union":
        return forward | backward
    made = _Alignment(set(forward & backward))
    _grow(made, forward | backward)
    if method != "grow-diag":
        enough = all if method == "grow-diag-final-and" else any
        for direction in (forward, backward):
            for link in sorted(direction - made.links):
                if made.leaves_free(link, enough):
                    made.add(link)
    return frozenset(made.links)


class _Alignment:
    """Links that become more, and the words that have one."""

    def __init__(self, links: set[Link]) -> None:
        self.links = links
        self._sources, self._targets = {s for s, _ in links}, {t for _, t in links}

    def add(self, link: Link) -> None:
        self.links.add(link)
        self._sources.add(link[0])
        self._targets.add(link[1])

    def leaves_free(self, link: Link, enough: Callable[[Iterable[bool]], bool]) -> bool:
        """Whether any (or all) of a link's two words have no link yet."""
        return enough((link[0] not in self._sources, link[1] not in self._targets))


def _grow(made: _Alignment, candidates: Links) -> None:
    """Adds candidates beside a link, until there are none."""
    grown = True
    while grown:
        grown = False
        for s, t in sorted(made.links):
            around = ((s + i, t + j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
            for link in around:
                if link in candidates and link not in made.links and made.leaves_free(link, any):
                    made.add(link)
                    grown = True
