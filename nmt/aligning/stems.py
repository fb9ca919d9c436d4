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

    classes: Ints
    """[pairs of words]: the number of the pair of stems of each."""
    stems: Ints
    """[ids of generating words]: the stem of each."""
    shares: Floats
    """[pairs of words]: the share of the generated word in the words of the text with its stem."""

    def probabilities(self, cells: Floats, by: Ints, total: Floats) -> Floats:
        """t(stem of y | stem of x) times the share of y in its stem, for each pair of words x and y.

        Args:
            cells: expected counts, [pairs of words].
            by: the generating word of each pair.
            total: expected counts of each generating word.
        """
        counts = np.bincount(self.classes, cells)
        totals = np.bincount(self.stems, total)
        found: Floats = counts[self.classes] / np.maximum(totals, np.finfo(float).tiny)[self.stems[by]] * self.shares
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
    words = [cooccurrence.words(side) for side in (0, 1)]
    pairs = stems[0][words[0]] * (int(stems[1].max()) + 1) + stems[1][words[1]]
    classes = np.unique(pairs, return_inverse=True)[1]
    shares = [
        (frequency / np.bincount(stem, frequency)[stem])[word]
        for frequency, stem, word in zip(frequencies, stems, words, strict=True)
    ]
    return StemPrior(classes, stems[0], shares[1]), StemPrior(classes, stems[1], shares[0])
