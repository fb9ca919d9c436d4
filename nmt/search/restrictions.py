"""Guides that know what a translation must not hold, or must begin with."""

from __future__ import annotations

from dataclasses import dataclass

from keras import ops

from nmt.backend import Tensor
from nmt.backend.gather_scatter import gather
from nmt.search.beam import Beam, Guide
from nmt.text.pieces import EOS, PAD


@dataclass(frozen=True)
class Suppressed(Guide):
    """Pieces that never come.

    Args:
        pieces: bool [vocabulary].
    """

    pieces: Tensor

    def forbid(self, beam: Beam, banned: Tensor) -> Tensor:
        return ops.logical_or(banned, self.pieces)


@dataclass(frozen=True)
class AtLeast(Guide):
    """No end of sentence before a hypothesis has enough pieces.

    Args:
        pieces: least number, the end of sentence not counted, int32 [batch].
    """

    pieces: Tensor

    def forbid(self, beam: Beam, banned: Tensor) -> Tensor:
        end = ops.arange(banned.shape[-1]) == EOS
        return ops.logical_or(banned, (beam.time < self.pieces)[:, None, None] & end)


@dataclass(frozen=True)
class NoRepeatedNgram(Guide):
    """No run of `size` pieces comes twice in a hypothesis (Paulus, Xiong and Socher 2018, section 2.5).

    Args:
        size: of the runs, 1 or more.
    """

    size: int

    def forbid(self, beam: Beam, banned: Tensor) -> Tensor:
        tokens, before = beam.tokens, self.size - 1  # [batch, slots, longest]
        longest = ops.shape(tokens)[2]
        padded = ops.pad(tokens, ((0, 0), (0, 0), (0, before)), constant_values=PAD)
        begins = ops.arange(longest, dtype="int32")
        # A run that begins at p has its last piece at p + before, which must have been written by now.
        same = ops.broadcast_to(begins + before < beam.time, ops.shape(tokens))
        for offset in range(before):
            last = gather(tokens, ops.maximum(beam.time - before + offset, 0), axis=2)
            same = same & (padded[:, :, offset : offset + longest] == last[:, :, None])
        completing = ops.where(same, padded[:, :, before : before + longest], PAD)
        return ops.logical_or(banned, among(completing, banned.shape[-1]))


def among(pieces: Tensor, vocabulary: int) -> Tensor:
    """Which pieces are in the last axis of `pieces`, PAD apart: int32 [batch, slots, any] -> bool [batch, slots,
    vocabulary]."""
    shape = ops.shape(pieces)
    rows = ops.arange(shape[0] * shape[1], dtype="int32")[:, None]
    cells = rows * vocabulary + ops.reshape(pieces, (shape[0] * shape[1], shape[2]))
    counts = ops.segment_sum(
        ops.ones_like(ops.reshape(cells, (-1,))), ops.reshape(cells, (-1,)), shape[0] * shape[1] * vocabulary
    )
    found = ops.reshape(counts, (shape[0], shape[1], vocabulary)) > 0
    return ops.logical_and(found, ops.arange(vocabulary) != PAD)


@dataclass(frozen=True)
class Prefix(Guide):
    """Hypotheses begin with given pieces, whatever other guides say of them.

    Args:
        pieces: int32 [batch, longest prefix], PAD behind the end of each.
    """

    pieces: Tensor

    def forbid(self, beam: Beam, banned: Tensor) -> Tensor:
        width = ops.shape(self.pieces)[1]
        wanted = gather(self.pieces, ops.minimum(beam.time, width - 1), axis=1)
        inside = ops.logical_and(beam.time < width, wanted != PAD)  # [batch]
        others = ops.arange(banned.shape[-1], dtype="int32") != wanted[:, None]  # [batch, vocabulary]
        return ops.where(inside[:, None, None], others[:, None, :], banned)
