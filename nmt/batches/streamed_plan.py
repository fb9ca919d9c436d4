"""The batch plan of a corpus of any size: memory for a few windows, whatever the number of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nmt.batches.few_shapes_plan import FewShapesPlan
from nmt.batches.mixture import Mixture
from nmt.batches.plan import START, BatchPlan, EpochFigures, Section

if TYPE_CHECKING:
    from nmt.batches.sharded_corpus import ShardedCorpus

SECTION = 16
"""Windows of a section. Batches that are not full move from window to window within a section."""


class StoredLengths:
    """Lengths that are read from disk when they are needed, end of sentence included.

    Args:
        corpus: the pairs.
        side: 0 for the source, 1 for the target.
    """

    def __init__(self, corpus: ShardedCorpus, side: int) -> None:
        self._corpus, self._side = corpus, side

    def __getitem__(self, indices: Any) -> np.ndarray:
        return self._corpus.lengths(indices)[self._side] + 1

    def __len__(self) -> int:
        return len(self._corpus)


@dataclass(frozen=True)
class LengthCounts:
    """How many pairs of an epoch have which lengths."""

    source: np.ndarray
    """Source lengths, ends of sentences included, [cells]."""
    target: np.ndarray
    """Target lengths beside them, [cells]."""
    pairs: np.ndarray
    """Pairs of an epoch with both lengths, float64 [cells]: an expectation where a corpus is read in part."""

    def drawn(self, count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The lengths of `count` pairs in random order: of all pairs where there are no more, else a sample."""
        exact = self.pairs.astype(np.int64)
        if exact.sum() == count and (exact == self.pairs).all():
            chosen = random.permutation(np.repeat(np.arange(len(exact)), exact))
        else:
            chosen = random.choice(len(exact), count, p=self.pairs / self.pairs.sum())
        return self.source[chosen], self.target[chosen]


@dataclass(frozen=True)
class StreamedPlan(BatchPlan):
    """Batches of the pairs of a `Mixture`; lengths are read window by window.

    An epoch has sections of `SECTION` windows, and each is planned by itself: a run resumes at its section.

    Args:
        mixture: the order of the pairs.
        counts: the lengths of the pairs.
    """

    mixture: Mixture = field(kw_only=True)
    counts: LengthCounts = field(kw_only=True)
    _sections: list[Section] = field(default_factory=list, init=False, repr=False, compare=False)
    """The sections of the epoch that is being planned, as far as it is planned."""

    def batches(self, pass_index: int, begin: Section = START) -> Iterator[np.ndarray]:
        self._sections.clear()
        pairs, first = SECTION * self.window, begin.first_batch
        for number in range(begin.number, -(-len(self.mixture) // pairs)):
            self._sections.append(Section(number, first))
            random = np.random.default_rng((self.seed, pass_index, number))
            windows = self.mixture.windows(pass_index, self.window, number * pairs, (number + 1) * pairs)
            for batch in self._cut(windows, random):
                first += 1
                yield batch

    def section_of(self, batch: int) -> Section:
        return next((section for section in reversed(self._sections) if section.first_batch <= batch), START)

    def figures(self) -> EpochFigures:
        """Estimates from the lengths of a section's pairs, drawn at random; no pair is read.

        The largest product of a batch is a bound.
        """
        count = min(len(self.mixture), SECTION * self.window)
        drawn = self.counts.drawn(count, np.random.default_rng(self.seed))
        section = self._in_memory(*drawn).figures()
        batches = max(round(section.batches * len(self.mixture) / count), 1)
        return EpochFigures(batches, section.padding, self._most_cells())

    def _in_memory(self, source: np.ndarray, target: np.ndarray) -> BatchPlan:
        return BatchPlan(source, target, self.batch_tokens, self.window, self.seed)

    def _most_cells(self) -> int:
        longest = np.unique(np.maximum(self.counts.source, self.counts.target))
        positions, steps = (np.minimum(longest, side.max()) for side in (self.counts.source, self.counts.target))
        return int((np.maximum(self.batch_tokens // longest, 1) * positions * steps).max())


@dataclass(frozen=True)
class StreamedFewShapesPlan(StreamedPlan, FewShapesPlan):
    """As `StreamedPlan`, with batches of few shapes."""

    def _in_memory(self, source: np.ndarray, target: np.ndarray) -> BatchPlan:
        return FewShapesPlan(source, target, self.batch_tokens, self.window, self.seed, self.shapes)

    def _costs(self) -> tuple[np.ndarray, np.ndarray | None]:
        return np.maximum(self.counts.source, self.counts.target), np.ceil(self.counts.pairs)

    def _most_cells(self) -> int:
        return max(self.rows(int(width)) * int(width) ** 2 for width in self.widths)
