"""Which sentences make which batch, and the arrays of a batch. NumPy only: the same plan feeds every backend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nmt.batches.arrays import BLANK


def cut_by_tokens(costs: np.ndarray, order: np.ndarray, budget: int) -> list[np.ndarray]:
    """Cuts `order` (indices by falling cost) so that sentences times the largest cost stays within the budget.

    A sentence longer than the budget gets a batch of its own. All batches but the last are full.
    """
    batches, begin = [], 0
    while begin < len(order):
        rows = max(1, budget // int(costs[order[begin]]))
        batches.append(order[begin : begin + rows])
        begin += rows
    return batches


def sort_by_length(source_lengths: np.ndarray, target_lengths: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """`indices`, longest pairs first, pairs of like lengths on both sides beside each other."""
    source, target = source_lengths[indices], target_lengths[indices]
    return indices[np.lexsort((source, target, np.maximum(source, target)))[::-1]]


@dataclass(frozen=True)
class BatchPlan:
    """The batches of every pass: a function of seed and pass alone, so a run can go on from any batch.

    The pairs of a pass are shuffled and read window by window; a window is sorted by length, cut by the token budget
    and its batches shuffled. The last batch of a window is not full: its pairs flow into the next window.

    Args:
        source_lengths, target_lengths: pieces of each pair, end of sentence included, [pairs].
        batch_tokens: budget, sentences times the longest sentence of either side.
        window: pairs sorted together.
        seed: of the order.
    """

    source_lengths: np.ndarray
    target_lengths: np.ndarray
    batch_tokens: int
    window: int
    seed: int

    def largest_batch_cells(self, batches: Iterable[np.ndarray]) -> int:
        """Sentences x source positions x target steps of the batch that has most of them, padding included."""
        return max(len(batch) * positions * steps for batch in batches for positions, steps in [self._padded(batch)])

    def batches(self, pass_index: int) -> Iterator[np.ndarray]:
        """Indices of the pairs of each batch of one pass; every pair comes exactly once."""
        random = np.random.default_rng((self.seed, pass_index))
        costs = np.maximum(self.source_lengths, self.target_lengths)
        order = random.permutation(len(costs))
        rest = order[:0]
        for begin in range(0, len(order), self.window):
            indices = np.concatenate([rest, order[begin : begin + self.window]])
            batches = cut_by_tokens(
                costs, sort_by_length(self.source_lengths, self.target_lengths, indices), self.batch_tokens
            )
            rest = batches.pop() if begin + self.window < len(order) else order[:0]
            yield from (batches[i] for i in random.permutation(len(batches)))

    def width(self, batch: np.ndarray) -> int:
        """What both sides of a batch are padded to; 0: each to its own longest."""
        return 0

    def padding_share(self, batches: Iterable[np.ndarray]) -> float:
        """Share of the batches' positions, both sides together, that is padding."""
        real = padded = 0
        for batch in batches:
            pairs = batch[batch != BLANK]
            real += int(self.source_lengths[pairs].sum() + self.target_lengths[pairs].sum())
            padded += sum(self._padded(batch)) * len(batch)
        return 1 - real / max(padded, 1)

    def _padded(self, batch: np.ndarray) -> tuple[int, int]:
        """Positions and steps that a batch has."""
        width, pairs = self.width(batch), batch[batch != BLANK]
        return width or int(self.source_lengths[pairs].max()), width or int(self.target_lengths[pairs].max())


@dataclass(frozen=True)
class FewShapesPlan(BatchPlan):
    """Batches of few shapes, for a compiler that makes a program for each: XLA, so JAX.

    A pair's longer side is rounded up to one of `shapes` widths, and all batches of a width have as many rows. What
    does not fill a batch waits for the next window; at the end of a pass the rests go together into the wider batches,
    and blank rows fill the last ones.

    Args:
        shapes: batch shapes at most.
    """

    shapes: int = 24

    @cached_property
    def widths(self) -> np.ndarray:
        """Widths of the batches, rising: those that pad least, [at most shapes]."""
        return best_widths(np.maximum(self.source_lengths, self.target_lengths), self.shapes)

    def rows(self, width: int) -> int:
        """Rows of a batch of this width."""
        return max(1, self.batch_tokens // width)

    def width(self, batch: np.ndarray) -> int:
        pairs = batch[batch != BLANK]
        longest = max(int(self.source_lengths[pairs].max()), int(self.target_lengths[pairs].max()))
        return int(self.widths[np.searchsorted(self.widths, longest)])

    def batches(self, pass_index: int) -> Iterator[np.ndarray]:
        random = np.random.default_rng((self.seed, pass_index))
        costs = np.maximum(self.source_lengths, self.target_lengths)
        order = random.permutation(len(costs))
        rests = {int(width): order[:0] for width in self.widths}
        for begin in range(0, len(order), self.window):
            window = order[begin : begin + self.window]
            of_width = self.widths[np.searchsorted(self.widths, costs[window])]
            batches = []
            for width, rest in rests.items():
                pairs = np.concatenate([rest, window[of_width == width]])
                full = len(pairs) // self.rows(width) * self.rows(width)
                batches += list(pairs[:full].reshape(-1, self.rows(width)))
                rests[width] = pairs[full:]
            yield from (batches[i] for i in random.permutation(len(batches)))
        yield from self._fill(rests)

    def _fill(self, rests: dict[int, np.ndarray]) -> Iterator[np.ndarray]:
        """Batches of what is left, the widest first, each filled from the next narrower widths."""
        left = np.concatenate([rests[width] for width in sorted(rests, reverse=True)] or [np.zeros(0, int)])
        while len(left):
            rows = self.rows(self.width(left[:1]))
            batch, left = left[:rows], left[rows:]
            yield np.pad(batch, (0, rows - len(batch)), constant_values=BLANK)


def best_widths(costs: np.ndarray, count: int) -> np.ndarray:
    """At most `count` of the values of `costs` that, each cost rounded up to the next of them, add least to the sum.

    Exact, by dynamic programming over the distinct values.
    """
    values, numbers = np.unique(costs, return_counts=True)
    before = np.concatenate([[0], np.cumsum(numbers)])
    # total[j]: least sum of the first j values with the widths used so far; chosen[k][j]: where the last one begins.
    total, chosen = np.where(np.arange(len(values) + 1) == 0, 0.0, np.inf), []
    for _ in range(min(count, len(values))):
        spans = (before[None, 1:] - before[:-1, None]) * values[None, :]  # [from, to]
        sums = np.where(np.arange(len(values))[:, None] <= np.arange(len(values)), total[:-1, None] + spans, np.inf)
        chosen.append(np.concatenate([[0], sums.argmin(axis=0)]))
        total = np.minimum(total, np.concatenate([[0.0], sums.min(axis=0)]))
    widths, end = [], len(values)
    for starts in reversed(chosen):
        if end:
            widths.append(values[end - 1])
            end = int(starts[end])
    return np.array(widths[::-1], np.int64)
