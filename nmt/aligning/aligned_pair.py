"""The alignment of a pair as an aligner computes it: probabilities of both directions, and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt.alignment.links import Links
from nmt.alignment.word_alignment import WordAlignment


@dataclass(frozen=True, eq=False)
class AlignedPair(WordAlignment):
    """A `WordAlignment` with the probability of each link.

    Its `weights` are the posterior of each target word over the source words, and `end_of_sentence` is the posterior of
    the empty word: target words that come from nothing.
    """

    probabilities: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    """[target words, source words]: probability of each link, the mean of both directions."""

    def to_json(self) -> dict[str, Any]:
        """Plain lists for `json.dumps`, rounded to 4 decimals."""
        return super().to_json() | {"probabilities": np.round(self.probabilities.astype(float), 4).tolist()}


def align_words(
    source: list[str],
    target: list[str],
    forward: NDArray[np.float32],
    backward: NDArray[np.float32],
    threshold: float,
) -> AlignedPair:
    """The alignment that follows from the posteriors of both directions.

    Args:
        source, target: words.
        forward: [target words, 1 + source words]; the empty word first.
        backward: [source words, 1 + target words], likewise.
        threshold: the least probability of a link.
    """
    probabilities = ((forward[:, 1:] + backward[:, 1:].T) / 2).astype(np.float32)
    return AlignedPair(
        tuple(source),
        tuple(target),
        forward[:, 1:],
        forward[:, 0],
        links_above(probabilities, threshold),
        probabilities,
    )


def links_above(probabilities: NDArray[np.float32], threshold: float) -> Links:
    """Links with at least this probability. A word can have several links, or none.

    Args:
        probabilities: [target words, source words].
        threshold: the least probability.
    """
    return frozenset((int(s), int(t)) for t, s in np.argwhere(probabilities >= threshold))
