"""Restrictions on the next piece: suppressed pieces, minimum length, no repeated n-gram, forced prefix.

`required_phrases` has one more: phrases that must appear.
"""

from __future__ import annotations

from dataclasses import dataclass

from nmt.backend import Tensor, ops
from nmt.backend.gather_scatter import gather
from nmt.search.distribution import State
from nmt.search.hypotheses import Beam
from nmt.search.next_pieces import NextPieces
from nmt.text.pieces import EOS, PAD


class Restriction:
    """Base class of the rules about the next piece of a hypothesis. The base class allows every piece."""

    forbids = True
    """Whether `forbid` must be called."""

    def begin(self, batch: Tensor, slots: int) -> State:
        """State of empty hypotheses, a structure with leading axes [batch, slots]."""
        return ()

    def forbid(self, beam: Beam, forbidden: Tensor) -> Tensor:
        """Adds pieces to the forbidden ones, or removes some: bool [batch, slots, vocabulary] -> the same shape."""
        return forbidden

    def read(self, next_pieces: NextPieces, state: State) -> State:
        """What `advance` must know of the step, a structure with leading axes [batch, slots]."""
        return ()

    def advance(self, state: State, pieces: Tensor, step: State) -> State:
        """State after these pieces, int32 [batch, slots].

        Args:
            step: the result of `read` for the hypotheses that the pieces extend.
        """
        return state


@dataclass(frozen=True)
class SuppressedPieces(Restriction):
    """Some pieces never appear.

    Args:
        pieces: bool [vocabulary], true for a suppressed piece.
    """

    pieces: Tensor

    def forbid(self, beam: Beam, forbidden: Tensor) -> Tensor:
        return ops.logical_or(forbidden, self.pieces)


@dataclass(frozen=True)
class MinimumLength(Restriction):
    """A hypothesis ends only when it has enough pieces.

    Args:
        pieces: minimum number of pieces without the end of sentence, int32 [batch].
    """

    pieces: Tensor

    def forbid(self, beam: Beam, forbidden: Tensor) -> Tensor:
        end = ops.arange(forbidden.shape[-1], like=forbidden) == EOS
        return ops.logical_or(forbidden, (beam.time < self.pieces)[:, None, None] & end)


@dataclass(frozen=True)
class NoRepeatedNgram(Restriction):
    """No n-gram appears twice in a hypothesis (Paulus, Xiong and Socher 2018, section 2.5).

    Args:
        size: n, at least 1.
    """

    size: int

    def forbid(self, beam: Beam, forbidden: Tensor) -> Tensor:
        tokens, before = beam.tokens, self.size - 1  # [batch, slots, longest]
        longest = ops.shape(tokens)[2]
        padded = ops.pad(tokens, ((0, 0), (0, 0), (0, before)), constant_values=PAD)
        begins = ops.arange(longest, dtype="int32", like=tokens)
        # An n-gram that begins at p ends at p + before, which must be written already.
        same = ops.broadcast_to(begins + before < beam.time, ops.shape(tokens))
        for offset in range(before):
            last = gather(tokens, ops.maximum(beam.time - before + offset, 0), axis=2)
            same = same & (padded[:, :, offset : offset + longest] == last[:, :, None])
        completing = ops.where(same, padded[:, :, before : before + longest], PAD)
        return ops.logical_or(forbidden, mark_pieces(completing, forbidden.shape[-1]))


@dataclass(frozen=True)
class ForcedPrefix(Restriction):
    """Hypotheses begin with given pieces. The prefix overrules the restrictions before it.

    Args:
        pieces: int32 [batch, longest prefix], PAD after the end of each.
    """

    pieces: Tensor

    def forbid(self, beam: Beam, forbidden: Tensor) -> Tensor:
        width = ops.shape(self.pieces)[1]
        next_piece = gather(self.pieces, ops.minimum(beam.time, width - 1), axis=1)
        inside = ops.logical_and(beam.time < width, next_piece != PAD)  # [batch]
        others = ops.arange(forbidden.shape[-1], dtype="int32", like=forbidden) != next_piece[:, None]
        return ops.where(inside[:, None, None], others[:, None, :], forbidden)


def mark_pieces(pieces: Tensor, vocabulary: int) -> Tensor:
    """Marks the given pieces, PAD excepted: int32 [batch, slots, any] -> bool [batch, slots, vocabulary]."""
    shape = ops.shape(pieces)
    rows = ops.arange(shape[0] * shape[1], dtype="int32", like=pieces)[:, None]
    cells = rows * vocabulary + ops.reshape(pieces, (shape[0] * shape[1], shape[2]))
    counts = ops.segment_sum(
        ops.ones_like(ops.reshape(cells, (-1,))), ops.reshape(cells, (-1,)), shape[0] * shape[1] * vocabulary
    )
    found = ops.reshape(counts, (shape[0], shape[1], vocabulary)) > 0
    return ops.logical_and(found, ops.arange(vocabulary, like=pieces) != PAD)
