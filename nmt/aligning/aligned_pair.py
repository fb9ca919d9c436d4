"""The alignment of a pair as an aligner computes it: probabilities of both directions, and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nmt.alignment.hard_links import BY_ALIGNER, LinkedBy
from nmt.alignment.links import Links
from nmt.alignment.symmetrizing import Symmetrization, symmetrize
from nmt.alignment.word_alignment import WordAlignment

Floats = NDArray[np.float32]
Supported = tuple[NDArray[np.bool_], NDArray[np.bool_]]
"""For each direction whether it linked two words often enough in training, each [target words, source words]."""
Merging = Literal[Symmetrization, "supported"]


@dataclass(frozen=True, eq=False)
class AlignedPair(WordAlignment):
    """A `WordAlignment` with the probability of each link.

    Its `weights` are the posterior of each target word over the source words, and `end_of_sentence` is the posterior of
    the empty word: target words that come from nothing.
    """

    probabilities: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    """[target words, source words]: probability of each link, the mean of both directions."""
    linked_by: LinkedBy = BY_ALIGNER
    cut: bool = False
    """Whether a side has words beyond `max_words`, which have no links."""

    def to_json(self) -> dict[str, Any]:
        """Plain lists for `json.dumps`, rounded to 4 decimals."""
        return super().to_json() | {"probabilities": np.round(self.probabilities.astype(float), 4).tolist()}


def align_words(
    source: list[str], target: list[str], forward: Floats, backward: Floats, supported: Supported, method: Merging
) -> AlignedPair:
    """The alignment that follows from the posteriors of both directions.

    Args:
        source, target: words.
        forward: [target words, 1 + source words]; the empty word first.
        backward: [source words, 1 + target words], likewise.
        supported: for each direction whether the training linked the words of a pair, see `Supported`.
        method: merges the links of both directions: one of `symmetrize`, or `supported`, which adds to the intersection
            the links of one direction between words that it linked in training too.
    """
    probabilities = ((forward[:, 1:] + backward[:, 1:].T) / 2).astype(np.float32)
    links = (frozenset((s, t) for t, s in _choices(forward)), frozenset(_choices(backward)))
    merged = _merged(links, supported, method)
    return AlignedPair(tuple(source), tuple(target), forward[:, 1:], forward[:, 0], merged, probabilities=probabilities)


def _merged(links: tuple[Links, Links], supported: Supported, method: Merging) -> Links:
    """The links of both directions as one alignment."""
    if method != "supported":
        return symmetrize(*links, method)
    kept = (
        frozenset(link for link in of_one if by[link[1], link[0]]) for of_one, by in zip(links, supported, strict=True)
    )
    return symmetrize(*links, "intersection").union(*kept)


def _choices(posterior: Floats) -> list[tuple[int, int]]:
    """Each word with its most probable origin, unless that is the empty word.

    Args:
        posterior: [words, 1 + words of the other side]; the empty word first.
    """
    chosen = posterior.argmax(axis=1)
    return [(word, int(origin) - 1) for word, origin in enumerate(chosen) if origin]
