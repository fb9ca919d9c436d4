"""Two hidden Markov models of alignment, one for each direction, with lexicons of counts and with fertilities.

The lexicon t(y | x) is learned by variational Bayes with a sparse Dirichlet prior (Riley and Gildea 2012): few
translations of a word share its probability. The prior favours the translations of words with the same stem. Links are
the most probable choices of either direction that the other direction or the training supports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.aligning import fertility
from nmt.aligning.batches import PairBatch, is_word
from nmt.aligning.cooccurrence import Cooccurrence
from nmt.aligning.hidden_markov import JUMPS, TINY, Posterior, first_jumps, with_jumps, without_jumps
from nmt.aligning.stems import StemPrior
from nmt.config.aligner import AlignerConfig
from nmt.text.pieces import UNK

EMPTY_PRIOR = 0.5
"""Words of the text's frequencies that are added to the counts of the empty word."""
JUMP_FLOOR = 0.02
"""Share of the jumps that is spread evenly over all distances."""
ENOUGH_SUPPORT = 1.5
"""Expected links of two words in training from which a link of one direction is enough."""
UNSEEN, UNKNOWN = 1e-3, 0.1
"""Factors on the probability of a word if the pair was never seen: both words known, one of them unknown."""

NAMES, VALUES = ("forward", "backward"), ("lexicon", "support", "empty", "jumps", "ratios")
"""The names of saved arrays: direction and value."""

Floats = NDArray[np.float64]


@dataclass
class Counts:
    """Expected counts of one direction, from the pairs of an epoch so far."""

    cells: Floats
    """[pairs of words]"""
    empty: Floats
    """[ids]: words that the empty word generates."""
    jumps: Floats = field(default_factory=lambda: np.zeros(JUMPS))
    fertilities: Floats = field(default_factory=lambda: np.zeros((0, fertility.MOST)))
    """[ids of generating words, fertilities]; no rows until fertilities are learned."""

    def add(self, batch: PairBatch, found: Posterior) -> None:
        """Adds the expected counts of a batch."""
        real = batch.cells < len(self.cells)
        np.add.at(self.cells, batch.cells[real], found.words[real])
        np.add.at(self.empty, batch.target.ravel(), found.empty.ravel())
        self.jumps += found.jumps
        if len(self.fertilities):
            mask = is_word(batch.source)
            np.add.at(self.fertilities, batch.source[mask], fertility.distribution(found.words)[mask])


class Statistics(NamedTuple):
    """The words of a text, for one direction."""

    by: NDArray[np.int64]
    """[pairs of words]: the generating word of each."""
    partners: NDArray[np.int64]
    """[ids of generating words]: the number of different words that occur with each."""
    frequencies: Floats
    """[ids of generated words]: the share of each in the text, smoothed."""
    stems: StemPrior | None = None
    """None: words do not learn from their stems."""


@dataclass
class DirectedModel:
    """p(words of one side | words of the other side)."""

    lexicon: Floats
    """[pairs of words + 1]: t of each pair of words; the last entry belongs to unseen pairs."""
    support: Floats
    """[pairs of words + 1]: how often the direction linked the words of each pair in the last epoch (expected)."""
    empty: Floats
    """[ids]: t of each word given the empty word."""
    jumps: Floats
    ratios: Floats
    """[ids of generating words, fertilities]: see `fertility.log_ratios`; no rows until fertilities are learned."""
    empty_share: float

    def posterior(self, batch: PairBatch, ordered: bool, rounds: int) -> Posterior:
        """Where the words of the target come from.

        Args:
            batch: the generating side is its source.
            ordered: whether jumps count; otherwise every place is equally probable.
            rounds: rounds of mean field, if fertilities are learned.
        """
        generating, generated = is_word(batch.source), is_word(batch.target)
        emission, empty = self._emission(batch, generating, generated)

        def found(emission: Floats) -> Posterior:
            if not ordered:
                return without_jumps(emission, empty, generating, self.empty_share)
            return with_jumps(emission, empty, generating, generated, self.jumps, self.empty_share)

        result = found(emission)
        if len(self.ratios):
            words = result.words
            for _ in range(rounds):
                result = found(emission * fertility.factors(self.ratios, batch.source, words))
                words = (words + result.words) / 2
        return result

    def _emission(
        self, batch: PairBatch, generating: NDArray[np.bool_], generated: NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        empty = self.empty[batch.target] * generated
        unknown = (batch.source == UNK)[:, None, :] | (batch.target == UNK)[:, :, None]
        unseen = batch.cells == len(self.lexicon) - 1
        emission = np.where(unseen, empty[..., None] * np.where(unknown, UNKNOWN, UNSEEN), self.lexicon[batch.cells])
        return emission * (generating[:, None, :] & generated[:, :, None]), empty

    def update(self, counts: Counts, text: Statistics, config: AlignerConfig, concentration: float) -> None:
        """The M step.

        Args:
            counts: of an epoch.
            text: the words of the text.
            config: has the power of the jumps and the weight of the stems.
            concentration: of the lexicon's prior; 0: the most probable lexicon without a prior.
        """
        self._update_lexicon(counts.cells, text, config.stem_weight, concentration)
        self.support[:-1] = counts.cells
        empty = counts.empty + EMPTY_PRIOR * text.frequencies
        self.empty = empty / empty.sum()
        if counts.jumps.any():
            jumps = ((1 - JUMP_FLOOR) * counts.jumps / counts.jumps.sum() + JUMP_FLOOR / JUMPS) ** config.jump_power
            self.jumps = jumps / jumps.sum()
        if len(counts.fertilities):
            self.ratios = fertility.log_ratios(counts.fertilities)

    def _update_lexicon(self, cells: Floats, text: Statistics, stem_weight: float, concentration: float) -> None:
        from scipy.special import digamma  # type: ignore[import-untyped]  # takes a while to import; aligning needs none

        total: Floats = np.bincount(text.by, cells, minlength=len(text.partners)).astype(float)
        seen, seen_in_all = cells, total
        if text.stems:
            seen = cells + stem_weight * text.stems.probabilities(cells, text.by, total)
            seen_in_all = total + stem_weight
        if concentration:
            spread = digamma(seen_in_all + concentration * text.partners + TINY)
            self.lexicon[:-1] = np.exp(digamma(seen + concentration) - spread[text.by])
        else:
            self.lexicon[:-1] = seen / (seen_in_all + TINY)[text.by]

    def require_shapes(self, cells: int, generating: int, generated: int) -> None:
        """Refuses arrays that do not fit the words.

        Args:
            cells: pairs of words.
            generating, generated: numbers of ids.

        Raises:
            ValueError: an array has another shape.
        """
        ratios = (0, fertility.MOST), (generating, fertility.MOST)
        fitting: Sequence[Sequence[tuple[int, ...]]]
        fitting = [(cells + 1,)], [(cells + 1,)], [(generated,)], [(JUMPS,)], ratios
        for name, shapes in zip(VALUES, fitting, strict=True):
            if getattr(self, name).shape not in shapes:
                raise ValueError(f"{name} has another shape")


@dataclass
class AlignmentModel:
    """Both directions: target words from source words, and source words from target words."""

    directions: tuple[DirectedModel, DirectedModel]

    @classmethod
    def untrained(cls, statistics: Sequence[Statistics], empty_share: float) -> AlignmentModel:
        """A model that knows the frequencies of words alone.

        Args:
            statistics: of both directions.
            empty_share: prior probability of the empty word.
        """
        made = [
            DirectedModel(
                lexicon=np.ones(len(text.by) + 1),
                support=np.zeros(len(text.by) + 1),
                empty=text.frequencies,
                jumps=first_jumps(),
                ratios=np.zeros((0, fertility.MOST)),
                empty_share=empty_share,
            )
            for text in statistics
        ]
        return cls((made[0], made[1]))

    def posteriors(self, batch: PairBatch, ordered: bool, rounds: int) -> tuple[Posterior, Posterior]:
        """The posteriors of both directions."""
        first, second = self.directions
        return first.posterior(batch, ordered, rounds), second.posterior(batch.reversed(), ordered, rounds)

    def supported(self, batch: PairBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """For each direction whether it linked two words often in training: [sentences, target words, source words]."""
        first, second = (direction.support[batch.cells] >= ENOUGH_SUPPORT for direction in self.directions)
        return first, second

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The learned values by name."""
        return {
            f"{name}.{value}": getattr(direction, value)
            for name, direction in zip(NAMES, self.directions, strict=True)
            for value in VALUES
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], empty_share: float, cooccurrence: Cooccurrence
    ) -> AlignmentModel:
        """Inverse of `to_arrays`.

        Args:
            cooccurrence: the pairs of words of the same training.

        Raises:
            KeyError: an array is missing.
            ValueError: an array does not fit the pairs of words.
        """
        sizes = cooccurrence.source_size, cooccurrence.target_size
        made = [
            DirectedModel(**{value: arrays[f"{name}.{value}"] for value in VALUES}, empty_share=empty_share)
            for name in NAMES
        ]
        for direction, generating, generated in zip(made, sizes, reversed(sizes), strict=True):
            direction.require_shapes(len(cooccurrence), generating, generated)
        return cls((made[0], made[1]))
