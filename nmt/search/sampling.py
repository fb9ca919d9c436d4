"""Ancestral sampling: each slot is an independent hypothesis, whose next piece is drawn from the model's
distribution."""

from __future__ import annotations

from dataclasses import dataclass

from nmt.backend import Tensor, ops
from nmt.backend.gumbel import gumbel
from nmt.search.distribution import IMPOSSIBLE
from nmt.search.hypotheses import Beam
from nmt.search.next_pieces import NextPieces


@dataclass(frozen=True)
class Sampling:
    """Draws the next piece of each hypothesis; a `Select` for independent slots.

    The log-probabilities are divided by the temperature, then the distribution is truncated. The draws of a sentence
    depend on its seed alone, and on nothing else in the batch.

    Args:
        seeds: seed of each sentence, uint32 [batch]; equal seeds give equal samples.
        temperature: above 1 flattens the model's distribution, below 1 sharpens it.
        top_k: number of most probable pieces to draw from; 0: all.
        top_p: draw from the smallest set of most probable pieces that has at least this probability (nucleus sampling,
            Holtzman et al. 2020); 1: all.
    """

    seeds: Tensor
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def __call__(self, beam: Beam, next_pieces: NextPieces) -> tuple[Tensor, Tensor, Tensor]:
        batch, slots = ops.shape(beam.finished)[0], beam.finished.shape[1]
        values = next_pieces.all_log_probabilities()
        kept = truncated(values / self.temperature, self.top_k, self.top_p)
        # The argmax of log-probability + Gumbel noise is a draw from the distribution (Maddison et al. 2014).
        noise = gumbel(self.seeds, beam.time, slots, next_pieces.distribution.vocabulary)
        pieces = ops.cast(ops.argmax(kept + noise, axis=-1), "int32")
        parents = ops.broadcast_to(ops.arange(slots, dtype="int32", like=values), (batch, slots))
        return parents, pieces, ops.take_along_axis(values, pieces[:, :, None], axis=2)[:, :, 0]


def truncated(values: Tensor, top_k: int, top_p: float) -> Tensor:
    """Unnormalised log-probabilities [..., vocabulary] with improbable pieces set to IMPOSSIBLE; see `Sampling`."""
    if top_k:
        greatest, _ = ops.top_k(values, min(top_k, values.shape[-1]))
        values = ops.where(values < greatest[..., -1:], IMPOSSIBLE, values)
    if top_p < 1:
        descending = -ops.sort(-values, axis=-1)
        mass = ops.softmax(descending, axis=-1)
        # A piece stays while the pieces before it have less than the target mass.
        inside = ops.cumsum(mass, axis=-1) - mass < top_p
        least = ops.min(ops.where(inside, descending, -IMPOSSIBLE), axis=-1, keepdims=True)
        values = ops.where(values < least, IMPOSSIBLE, values)
    return values
