"""Greedy search and beam search: the most probable continuations of all live hypotheses go on.

Greedy search is beam search with one hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable

from nmt.backend import Tensor, ops
from nmt.backend.gather_scatter import gather_within
from nmt.search.distribution import IMPOSSIBLE
from nmt.search.hypotheses import Beam
from nmt.search.next_pieces import NextPieces

Select = Callable[[Beam, NextPieces], tuple[Tensor, Tensor, Tensor]]
"""(beam, next pieces of its hypotheses) -> (parents, pieces, their log-probabilities).

The three are int32, int32 and float32 [batch, slots]. If n slots of a sentence are live, its first n selections go on:
slot `parents` with `pieces` after it. `NO_PIECE` leaves a slot empty.
"""

NO_PIECE = -1
"""Stands in place of a piece where a slot stays empty."""


def select_most_probable(
    beam: Beam, next_pieces: NextPieces, diversity: float = 0.0, margin: float = 0.0, nbest: int | Tensor = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """Selects the most probable continuations of all live hypotheses together; a `Select`.

    Args:
        diversity: penalty on siblings in nats (Li, Monroe and Jurafsky 2016, eq. 8). In the selection, the k-th best
            continuation of one hypothesis loses k - 1 times the penalty, so that one hypothesis cannot fill the beam.
            Its log-probability stays unchanged. The paper subtracts k times the penalty, which ranks alike.
        margin: distance in nats behind the `nbest`-th best continuation from which others are pruned (Freitag and
            Al-Onaizan 2017, section 3, absolute threshold pruning); 0: no pruning.
        nbest: number of hypotheses that the user asks for, a number or an int32 scalar.
    """
    slots = beam.finished.shape[1]
    count = next_pieces.available(slots)
    values, pieces = next_pieces.most_probable(count)  # the best `slots` of all lie among the best of each
    if slots == 1:
        return ops.zeros_like(pieces[:, :, 0]), pieces[:, :, 0], values[:, :, 0]
    totals = beam.log_probabilities[:, :, None] + values
    if diversity:
        totals = totals - diversity * ops.arange(count, dtype="float32", like=totals)
    totals = ops.where(beam.finished[:, :, None], 2 * IMPOSSIBLE, totals)
    selected, flat = ops.top_k(ops.reshape(totals, (-1, slots * count)), slots)
    flat = ops.cast(flat, "int32")
    pieces, values = (gather_within(ops.reshape(each, (-1, slots * count)), flat) for each in (pieces, values))
    if margin:
        pieces = ops.where(selected < selected[:, nbest - 1 : nbest] - margin, NO_PIECE, pieces)
    return flat // count, pieces, values
