"""The alignment of a pair as an aligner computes it: probabilities of both directions, and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt.alignment.symmetrizing import Symmetrization, symmetrize
from nmt.alignment.word_alignment import WordAlignment

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class AlignedPair(WordAlignment):
    """A `WordAlignment` with the probability of each link.

    Its `weights` are the posterior of each target word over the source words, and `end_of_sentence` is the posterior of
    the empty word: target words that come from nothing.
    """

    probabilities: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    """[target words, source words]: probability of each link, the mean of both directions."""

    def to_json(self) -> dict[str, Any]:
        """Plain lists for `json.dumps`, rounded to 4 decimals."""
        return super().to_json() | {"probabilities": np.round(self.probabilities.astype(float), 4).tolist()}


def align_words(
    source: list[str], target: list[str], forward: Floats, backward: Floats, method: Symmetrization
) -> AlignedPair:
    """The alignment that follows from the posteriors of both directions.

    Args:
        source, target: words.
        forward: [target words, 1 + source words]; the empty word first.
        backward: [source words, 1 + target words], likewise.
        method: merges the links of both directions.
    """
    probabilities = ((forward[:, 1:] + backward[:, 1:].T) / 2).astype(np.float32)
    links = symmetrize(frozenset((s, t) for t, s in _choices(forward)), frozenset(_choices(backward)), method)
    return AlignedPair(tuple(source), tuple(target), forward[:, 1:], forward[:, 0], links, probabilities)


def _choices(posterior: Floats) -> list[tuple[int, int]]:
    """Each word with its most probable origin, unless that is the empty word.

    Args:
        posterior: [words, 1 + words of the other side]; the empty word first.
    """
    chosen = posterior.argmax(axis=1)
    return [(word, int(origin) - 1) for word, origin in enumerate(chosen) if origin]
