"""The interface of the model to the search: a step function that gives a distribution over the next piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from nmt.backend import Tensor, ops
from nmt.backend.gather_scatter import gather

State = Any
"""A structure of tensors, batch first. The step function owns it; the search only reorders its rows."""

IMPOSSIBLE = -1e30
"""Log-probability of an impossible piece or an empty slot. It is finite, so that sums with it never become NaN."""


class PieceSubset(NamedTuple):
    """The pieces that a step function scores, where it scores only part of the vocabulary."""

    pieces: Tensor
    """Piece ids in ascending order, int32 [columns]. An id may be repeated if it is impossible in every row."""
    vocabulary: int
    """Size of the whole vocabulary."""


class Distribution(NamedTuple):
    """The distribution of the next piece, one row per hypothesis.

    The logits have one column per piece of the vocabulary, or one column per piece of `subset`.
    """

    logits: Tensor
    """Unnormalised log-probabilities, float32 [rows, columns]."""
    normalizer: Tensor = 0.0
    """ln sum exp of each row of the logits, float32 [rows, 1]. It is subtracted only from the few logits in use."""
    exact: Callable[[Tensor], Tensor] | None = None
    """Function from columns, int32 [rows, any], to their log-probabilities without rounding, float32 [rows, any].
    The columns should include the most probable ones. None: the logits are exact already."""
    impossible: tuple[int, ...] = ()
    """Piece ids that never follow."""
    subset: PieceSubset | None = None
    """The pieces of the columns; None: column i is piece i."""

    @property
    def vocabulary(self) -> int:
        """Size of the whole vocabulary."""
        return self.subset.vocabulary if self.subset else self.logits.shape[-1]

    def pieces(self, columns: Tensor) -> Tensor:
        """Piece ids of columns, int32, in the same shape."""
        return gather(self.subset.pieces, columns) if self.subset else columns

    def columns(self, pieces: Tensor) -> Tensor:
        """Columns of piece ids, int32, in the same shape; an arbitrary column for a piece outside the subset."""
        if not self.subset:
            return pieces
        found = ops.searchsorted(self.subset.pieces, ops.reshape(pieces, (-1,)))
        last = ops.shape(self.subset.pieces)[0] - 1
        return ops.reshape(ops.minimum(ops.cast(found, "int32"), last), ops.shape(pieces))


Step = Callable[..., tuple[Distribution, State, Tensor]]
"""(last pieces [rows], state, *fixed) -> (distribution of the next piece, state, record).

The tensors of `fixed`, [rows, ...], are the same at every step of a sentence. The record, [rows, width], is stored for
each step of each hypothesis, for example its attention weights.
"""
