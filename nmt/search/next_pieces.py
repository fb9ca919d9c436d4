"""The next pieces of each hypothesis and their log-probabilities, ready for a selection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from nmt.backend import Tensor, ops
from nmt.backend.gather_scatter import gather, gather_within
from nmt.search.distribution import IMPOSSIBLE, Distribution
from nmt.search.top_k import top_k

EXTRA_CANDIDATES = 3
"""Extra candidates where the logits are rounded, because rounding can swap near-ties."""


@dataclass(frozen=True)
class NextPieces:
    """The possible next pieces of every slot.

    The step function may have scored live hypotheses alone. A slot that it left out points to an arbitrary row, and
    this row is never used.

    Args:
        distribution: distributions of the step function, with restricted pieces set to IMPOSSIBLE.
        row_of_slot: row of each slot in the distribution, int32 [batch, slots].
        record: record of the step function, [rows, width].
    """

    distribution: Distribution
    row_of_slot: Tensor
    record: Tensor

    def available(self, count: int) -> int:
        """`count`, or the number of columns where it is known and smaller."""
        return min(count, self.distribution.logits.shape[-1] or count)

    def most_probable(self, count: int) -> tuple[Tensor, Tensor]:
        """The greatest log-probabilities of each hypothesis and their pieces, int32, both [batch, slots, count]."""
        # Impossible pieces are masked among these few candidates, which is cheaper than over the vocabulary.
        extra = len(self.distribution.impossible) + (EXTRA_CANDIDATES if self.distribution.exact else 0)
        logits, columns = top_k(self.distribution.logits, self.available(count + extra))
        pieces = self.distribution.pieces(columns)
        if not extra:  # they are in order
            values = ops.where(logits > IMPOSSIBLE / 2, logits - self.distribution.normalizer, IMPOSSIBLE)
            return gather(values, self.row_of_slot), gather(pieces, self.row_of_slot)
        possible = ops.logical_and(logits > IMPOSSIBLE / 2, ops.logical_not(self._impossible(pieces)))
        exact = self.distribution.exact
        values = exact(columns) if exact else logits - self.distribution.normalizer
        values, order = ops.top_k(ops.where(possible, values, IMPOSSIBLE), count)
        pieces = gather_within(pieces, ops.cast(order, "int32"))
        # Rows are spread over slots last, because there are more slots than rows.
        return gather(values, self.row_of_slot), gather(pieces, self.row_of_slot)

    def log_probabilities(self, parents: Tensor, pieces: Tensor) -> Tensor:
        """Log-probabilities of given pieces after given slots: both int32 [batch, any] -> float32 [batch, any]."""
        distribution = self.distribution
        rows = gather_within(self.row_of_slot, parents)
        width = ops.shape(distribution.logits)[1]
        logits = gather(ops.reshape(distribution.logits, (-1,)), rows * width + distribution.columns(pieces))
        normalizers = ops.broadcast_to(distribution.normalizer, (ops.shape(distribution.logits)[0], 1))
        return ops.where(self._impossible(pieces), IMPOSSIBLE, logits - gather(normalizers[:, 0], rows))

    def records(self) -> Tensor:
        """The record of every slot, [batch, slots, width]."""
        return gather(self.record, self.row_of_slot)

    def all_log_probabilities(self) -> Tensor:
        """Log-probabilities of the whole vocabulary, float32 [batch, slots, vocabulary]; without a subset only."""
        impossible = self._impossible(ops.arange(self.distribution.vocabulary, like=self.row_of_slot))
        values = ops.where(impossible, IMPOSSIBLE, self.distribution.logits - self.distribution.normalizer)
        return gather(values, self.row_of_slot)

    def _impossible(self, pieces: Tensor) -> Tensor:
        """bool, in the shape of `pieces`."""
        if not self.distribution.impossible:
            return ops.zeros_like(pieces, dtype="bool")
        return reduce(ops.logical_or, (pieces == piece for piece in self.distribution.impossible))
