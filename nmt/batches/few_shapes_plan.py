"""The batch plan for compilers that make a program for each shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nmt.batches.arrays import BLANK
from nmt.batches.plan import BatchPlan


@dataclass(frozen=True)
class FewShapesPlan(BatchPlan):
    """Batches of few shapes for a compiler such as XLA, which JAX uses.

    The longer side of a pair is rounded up to one of `shapes` widths. All batches of a width have equally many rows.
    Pairs that do not fill a batch wait for the next window. At the end of an epoch the remaining pairs of all widths
    are joined into the wider batches, and blank rows fill the last batches.

    Args:
        shapes: largest number of batch shapes.
    """

    shapes: int = 24

    @cached_property
    def widths(self) -> np.ndarray:
        """The widths with the least padding, ascending, [at most shapes]."""
        return best_widths(*self._costs(), self.shapes)

    def _costs(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Lengths of the longer sides, and the number of pairs of each; None: one pair each."""
        return np.maximum(self.source_lengths[:], self.target_lengths[:]), None

    def rows(self, width: int) -> int:
        """The number of rows of a batch of this width."""
        return max(1, self.batch_tokens // width)

    def width(self, batch: np.ndarray) -> int:
        pairs = batch[batch != BLANK]
        longest = max(int(self.source_lengths[pairs].max()), int(self.target_lengths[pairs].max()))
        return int(self.widths[np.searchsorted(self.widths, longest)])

    def _cut(self, windows: Iterable[np.ndarray], random: np.random.Generator) -> Iterator[np.ndarray]:
        rests = {int(width): np.zeros(0, np.int64) for width in self.widths}
        for window in windows:
            costs = np.maximum(self.source_lengths[window], self.target_lengths[window])
            of_width = self.widths[np.searchsorted(self.widths, costs)]
            batches = []
            for width, rest in rests.items():
                pairs = np.concatenate([rest, window[of_width == width]])
                full = len(pairs) // self.rows(width) * self.rows(width)
                batches += list(pairs[:full].reshape(-1, self.rows(width)))
                rests[width] = pairs[full:]
            yield from (batches[i] for i in random.permutation(len(batches)))
        yield from self._last_batches(rests)

    def _last_batches(self, rests: dict[int, np.ndarray]) -> Iterator[np.ndarray]:
        """Batches of the remaining pairs, the widest first, each filled with pairs of the next narrower widths."""
        left = np.concatenate([rests[width] for width in sorted(rests, reverse=True)] or [np.zeros(0, int)])
        while len(left):
            rows = self.rows(self.width(left[:1]))
            batch, left = left[:rows], left[rows:]
            yield np.pad(batch, (0, rows - len(batch)), constant_values=BLANK)


def best_widths(costs: np.ndarray, numbers: np.ndarray | None, count: int) -> np.ndarray:
    """The widths that add least to the sum of the costs when each cost is rounded up to the next width.

    Exact, by dynamic programming over the distinct costs.

    Args:
        costs: lengths, [lengths].
        numbers: pairs of each length, [lengths]; None: one each.
        count: largest number of widths.

    Returns:
        Ascending distinct values of `costs`, the largest among them.
    """
    values, inverse = np.unique(costs, return_inverse=True)
    numbers = np.bincount(inverse, numbers, len(values)).astype(np.int64)
    before = np.concatenate([[0], np.cumsum(numbers)])
    # total[j]: least sum of the first j values with the widths chosen; chosen[k][j]: first value of the last width.
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
