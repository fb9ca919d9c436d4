"""The lexicon of stems, from which rare words learn: most forms of a word begin with the same letters.

Each word has Dirichlet pseudo-counts in proportion to the translations of all words with its stem, as in a
hierarchical model (MacKay and Peto 1995). A word with many counts follows its own counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmt.aligning.cooccurrence import Cooccurrence

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StemPrior:
    """The stems of a text, for one direction."""

    cooccurrence: Cooccurrence
    side: int
    """The side of the generating words; 0: source."""
    classes: NDArray[np.int32]
    """[pairs of words]: the number of the pair of stems of each; both directions share it."""
    stems: Ints
    """[ids of generating words]: the stem of each."""
    shares: Floats
    """[ids of generated words]: the share of each in the words of the text with its stem."""

    def probabilities(self, cells: Floats, by: Ints, total: Floats) -> Floats:
        """t(stem of y | stem of x) times the share of y in its stem, for each pair of words x and y.

        Args:
            cells: expected counts, [pairs of words].
            by: the generating word of each pair.
            total: expected counts of each generating word.
        """
        found: Floats = np.bincount(self.classes, cells).astype(float)[self.classes]
        found /= np.maximum(np.bincount(self.stems, total), np.finfo(float).tiny)[self.stems[by]]
        found *= self.shares[self.cooccurrence.words(1 - self.side)]
        return found


def stem_priors(
    cooccurrence: Cooccurrence, stems: Sequence[Ints], frequencies: Sequence[Floats]
) -> tuple[StemPrior, StemPrior]:
    """The stems of both directions.

    Args:
        cooccurrence: the pairs of words.
        stems: of the source words and of the target words, [ids].
        frequencies: the share of each word in the text, source and target, [ids].
    """
    pairs = stems[0][cooccurrence.words(0)] * (int(stems[1].max()) + 1) + stems[1][cooccurrence.words(1)]
    classes = np.unique(pairs, return_inverse=True)[1].astype(np.int32)
    shares = [
        frequency / np.bincount(stem, frequency)[stem] for frequency, stem in zip(frequencies, stems, strict=True)
    ]
    first, second = (StemPrior(cooccurrence, side, classes, stems[side], shares[1 - side]) for side in (0, 1))
    return first, second
