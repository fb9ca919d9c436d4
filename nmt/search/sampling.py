"""Ancestral sampling: each slot is a hypothesis of its own, whose next piece is drawn from the model's distribution."""

from __future__ import annotations

from dataclasses import dataclass

from keras import ops

from nmt.backend import Tensor
from nmt.backend.gumbel import gumbel
from nmt.search.beam import IMPOSSIBLE, Beam, Continuations


@dataclass(frozen=True)
class Sampling:
    """Draws the next piece of each hypothesis; a `Search.choose` for independent slots.

    The log-probabilities are divided by the temperature, then all but the likeliest are left out. What is drawn for a
    sentence depends on its own number and on nothing else in the batch.

    Args:
        numbers: of each sentence's draw, uint32 [batch]; the same numbers give the same samples.
        temperature: above 1 flatter, below 1 sharper than the model.
        top_k: only so many of the likeliest pieces; 0: all.
        top_p: only the likeliest pieces that together have this mass, at least one (nucleus sampling, Holtzman et al.
            2020); 1: all.
    """

    numbers: Tensor
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def __call__(self, beam: Beam, continuations: Continuations) -> tuple[Tensor, Tensor, Tensor]:
        batch, slots = ops.shape(beam.finished)[0], beam.finished.shape[1]
        values = continuations.everything()
        kept = truncated(values / self.temperature, self.top_k, self.top_p)
        # The argmax of log-probability + Gumbel noise is a draw from the distribution (Maddison et al. 2014).
        noise = gumbel(self.numbers, beam.time, slots, continuations.said.vocabulary)
        pieces = ops.cast(ops.argmax(kept + noise, axis=-1), "int32")
        parents = ops.broadcast_to(ops.arange(slots, dtype="int32"), (batch, slots))
        return parents, pieces, ops.take_along_axis(values, pieces[:, :, None], axis=2)[:, :, 0]


def truncated(values: Tensor, top_k: int, top_p: float) -> Tensor:
    """Unnormalized log-probabilities [..., vocabulary] with the unlikely ones made impossible; see `Sampling`."""
    if top_k:
        likeliest, _ = ops.top_k(values, min(top_k, values.shape[-1]))
        values = ops.where(values < likeliest[..., -1:], IMPOSSIBLE, values)
    if top_p < 1:
        falling = -ops.sort(-values, axis=-1)
        mass = ops.softmax(falling, axis=-1)
        # A piece is kept while those before it have less than the wanted mass.
        inside = ops.cumsum(mass, axis=-1) - mass < top_p
        least = ops.min(ops.where(inside, falling, -IMPOSSIBLE), axis=-1, keepdims=True)
        values = ops.where(values < least, IMPOSSIBLE, values)
    return values
