"""The sentences of each batch of each epoch. NumPy only: one plan feeds every backend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from nmt.batches.arrays import BLANK


def cut_by_tokens(costs: np.ndarray, order: np.ndarray, budget: int) -> list[np.ndarray]:
    """Cuts sentences into batches whose number of sentences times the largest cost is within the budget.

    A sentence longer than the budget gets a batch of its own. All batches but the last are full.

    Args:
        costs: the padded length of each sentence.
        order: indices of the sentences, by descending cost.
        budget: largest number of sentences times largest cost.
    """
    batches, begin = [], 0
    while begin < len(order):
        rows = max(1, budget // int(costs[order[begin]]))
        batches.append(order[begin : begin + rows])
        begin += rows
    return batches


def sort_by_length(source_lengths: np.ndarray, target_lengths: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The same indices, longest pairs first; pairs with similar lengths on both sides are neighbours."""
    source, target = source_lengths[indices], target_lengths[indices]
    return indices[np.lexsort((source, target, np.maximum(source, target)))[::-1]]


class Lengths(Protocol):
    """The lengths of many sentences: an array, or an object that reads the lengths of some sentences from disk."""

    def __getitem__(self, indices: Any) -> Any: ...

    def __len__(self) -> int: ...


class EpochFigures(NamedTuple):
    """Figures of an epoch's batches."""

    batches: int
    padding: float
    """Share of padding in the batches' positions, both sides together."""
    largest_cells: int
    """The largest product of sentences, source positions and target steps of a batch, or a bound of it."""


class Section(NamedTuple):
    """A part of an epoch that can be planned without the parts before it."""

    number: int = 0
    first_batch: int = 0
    """Batches of the epoch before it."""


START = Section()
"""The beginning of an epoch."""


@dataclass(frozen=True)
class BatchPlan:
    """The batches of every epoch. They depend on seed and epoch alone, so a run can resume at any batch.

    The pairs of an epoch are shuffled and read in windows. A window is sorted by length and cut by the token budget,
    and its batches are shuffled. The last batch of a window is rarely full, so its pairs move to the next window.

    Args:
        source_lengths, target_lengths: pieces of each pair, end of sentence included, [pairs].
        batch_tokens: largest number of sentences times the longest sentence of either side.
        window: pairs that are sorted together.
        seed: seed of the order.
    """

    source_lengths: Lengths
    target_lengths: Lengths
    batch_tokens: int
    window: int
    seed: int

    def figures(self) -> EpochFigures:
        """Figures of the first epoch; those of the other epochs differ a little."""
        first = list(self.batches(0))
        return EpochFigures(len(first), self.padding_share(first), self.largest_batch_cells(first))

    def section_of(self, batch: int) -> Section:
        """The section with this batch of the epoch that is being planned. Here an epoch is one section."""
        return START

    def largest_batch_cells(self, batches: Iterable[np.ndarray]) -> int:
        """The largest product of sentences, source positions and target steps of a batch, padding included."""
        return max(len(batch) * positions * steps for batch in batches for positions, steps in [self._shape(batch)])

    def batches(self, pass_index: int, begin: Section = START) -> Iterator[np.ndarray]:
        """The indices of the pairs of each batch of one epoch; every pair comes exactly once.

        Args:
            begin: the section to begin with.
        """
        random = np.random.default_rng((self.seed, pass_index))
        order = random.permutation(len(self.source_lengths))
        return self._cut((order[i : i + self.window] for i in range(0, len(order), self.window)), random)

    def _cut(self, windows: Iterable[np.ndarray], random: np.random.Generator) -> Iterator[np.ndarray]:
        """The batches of the pairs in these windows, those of each window in random order."""
        rest = np.zeros(0, np.int64)
        for window, last in _with_last(windows):
            indices = np.concatenate([rest, window])
            source, target = self.source_lengths[indices], self.target_lengths[indices]
            order = sort_by_length(source, target, np.arange(len(indices)))
            batches = [indices[rows] for rows in cut_by_tokens(np.maximum(source, target), order, self.batch_tokens)]
            rest = rest[:0] if last else batches.pop()
            yield from (batches[i] for i in random.permutation(len(batches)))

    def width(self, batch: np.ndarray) -> int:
        """The padded length of both sides of a batch; 0: each side has the length of its longest sentence."""
        return 0

    def padding_share(self, batches: Iterable[np.ndarray]) -> float:
        """The share of padding in the batches' positions, both sides together."""
        real = padded = 0
        for batch in batches:
            pairs = batch[batch != BLANK]
            real += int(self.source_lengths[pairs].sum() + self.target_lengths[pairs].sum())
            padded += sum(self._shape(batch)) * len(batch)
        return 1 - real / max(padded, 1)

    def _shape(self, batch: np.ndarray) -> tuple[int, int]:
        """The source positions and target steps of a batch."""
        width, pairs = self.width(batch), batch[batch != BLANK]
        return width or int(self.source_lengths[pairs].max()), width or int(self.target_lengths[pairs].max())


def _with_last(windows: Iterable[np.ndarray]) -> Iterator[tuple[np.ndarray, bool]]:
    """Each window, and whether it is the last one."""
    previous = None
    for window in windows:
        if previous is not None:
            yield previous, False
        previous = window
    if previous is not None:
        yield previous, True
