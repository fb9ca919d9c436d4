"""Lexically constrained search: phrases that must appear (dynamic beam allocation, Post and Vilar 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from keras import ops

from nmt.backend import Tensor
from nmt.backend.gather_scatter import gather_within
from nmt.search.distribution import IMPOSSIBLE
from nmt.search.greedy_and_beam import NO_PIECE
from nmt.search.hypotheses import Beam, take_slots
from nmt.search.next_pieces import NextPieces
from nmt.search.restrictions import Restriction, mark_pieces
from nmt.text.pieces import EOS, PAD


class ConstraintState(NamedTuple):
    """The phrases that each hypothesis contains, and the phrase that it is in the middle of."""

    met: Tensor
    """Whether the hypothesis contains each phrase, bool [batch, slots, phrases]."""
    current: Tensor
    """The incomplete phrase at the end of the hypothesis, int32 [batch, slots]; -1: none."""
    count: Tensor
    """Number of its pieces in the hypothesis, int32 [batch, slots]; 0 without one."""
    closed: Tensor
    """Whether the last piece completed a phrase, bool [batch, slots]."""


@dataclass(frozen=True)
class Constraints(Restriction):
    """Phrases that every finished hypothesis contains, in any order, without overlap.

    A hypothesis that leaves a phrase before its end must begin the phrase again. A sentence ends only when all phrases
    are met. When the missing phrases fill all positions that are left, nothing else is allowed. Pieces that a phrase
    needs are allowed even if restrictions before this one forbid them. The last word of a phrase cannot continue after
    the phrase.

    Args:
        phrases: int32 [batch, phrases, longest], PAD after the end of each; a phrase of PAD alone stands for none.
        joins: pieces that continue the word before them, bool [vocabulary].
        limits: length limit of each sentence's hypotheses, int32 [batch]; at least all phrases and the end of sentence.
    """

    phrases: Tensor
    joins: Tensor
    limits: Tensor

    @property
    def lengths(self) -> Tensor:
        """Number of pieces of each phrase, int32 [batch, phrases]."""
        return ops.sum(ops.cast(self.phrases != PAD, "int32"), axis=-1)

    def begin(self, batch: Tensor, slots: int) -> ConstraintState:
        zeros = ops.zeros((batch, slots), "int32")
        met = ops.repeat((self.lengths == 0)[:, None, :], slots, axis=1)
        return ConstraintState(met, zeros - 1, zeros, ops.zeros((batch, slots), "bool"))

    def advance(self, state: ConstraintState, pieces: Tensor) -> ConstraintState:
        lengths, phrases = self.lengths[:, None, :], ops.shape(self.phrases)[1]
        goes_on = ops.logical_and(self._next_of_current(state) == pieces, state.current >= 0)
        # A piece that does not go on with the current phrase may begin the first unmet phrase that starts with it.
        begins = ops.logical_and(self.phrases[:, None, :, 0] == pieces[:, :, None], ops.logical_not(state.met))
        first = ops.where(ops.any(begins, axis=-1), ops.cast(ops.argmax(begins, axis=-1), "int32"), -1)
        current = ops.where(goes_on, state.current, first)
        count = ops.where(goes_on, state.count + 1, ops.cast(first >= 0, "int32"))
        is_current = ops.arange(phrases, dtype="int32") == current[:, :, None]  # [batch, slots, phrases]
        complete = ops.logical_and(is_current, lengths == count[:, :, None])
        closed = ops.any(complete, axis=-1)
        return ConstraintState(
            met=ops.logical_or(state.met, complete),
            current=ops.where(closed, -1, current),
            count=ops.where(closed, 0, count),
            closed=closed,
        )

    def _next_of_current(self, state: ConstraintState) -> Tensor:
        """The next piece of the current phrase, int32 [batch, slots]; PAD where there is no current phrase."""
        is_current = ops.arange(ops.shape(self.phrases)[1], dtype="int32") == state.current[:, :, None]
        is_next = ops.arange(ops.shape(self.phrases)[2], dtype="int32") == state.count[:, :, None]
        cells = ops.logical_and(is_current[..., None], is_next[:, :, None, :])  # [batch, slots, phrases, longest]
        return ops.sum(ops.where(cells, self.phrases[:, None], 0), axis=(2, 3))

    def needed_pieces(self, state: ConstraintState) -> Tensor:
        """Pieces that advance a phrase: the next piece of the current phrase, or the first piece of each unmet phrase.

        Returns:
            int32 [batch, slots, phrases], PAD elsewhere.
        """
        first = ops.where(state.met, PAD, self.phrases[:, None, :, 0])
        is_current = ops.arange(ops.shape(self.phrases)[1], dtype="int32") == state.current[:, :, None]
        of_current = ops.where(is_current, self._next_of_current(state)[:, :, None], PAD)
        return ops.where((state.current >= 0)[:, :, None], of_current, first)

    def missing(self, state: ConstraintState) -> Tensor:
        """Number of pieces that a hypothesis still needs to meet all phrases, int32 [batch, slots]."""
        unmet = ops.logical_not(state.met)
        return ops.sum(ops.where(unmet, self.lengths[:, None, :], 0), axis=-1) - state.count

    def forbid(self, beam: Beam, forbidden: Tensor) -> Tensor:
        state = _constraint_state(beam)
        missing, vocabulary = self.missing(state)[:, :, None], forbidden.shape[-1]
        needed = mark_pieces(self.needed_pieces(state), vocabulary)
        end = ops.arange(vocabulary) == EOS
        forbidden = forbidden | (end & (missing > 0)) | (self.joins & state.closed[:, :, None])
        forbidden = ops.logical_and(forbidden, ops.logical_not(needed))
        # Any other piece abandons the current phrase, but it may begin another. The rest must still fit after it.
        begins = mark_pieces(ops.where(state.met, PAD, self.phrases[:, None, :, 0]), vocabulary)
        required = missing + state.count[:, :, None] + ops.where(begins, 0, 1) + 1
        too_late = (missing > 0) & (required > (self.limits - beam.time)[:, None, None]) & ops.logical_not(needed)
        return ops.logical_or(forbidden, too_late)


def _constraint_state(beam: Beam) -> ConstraintState:
    return next(state for state in beam.restriction_states if isinstance(state, ConstraintState))


@dataclass(frozen=True)
class BankedSelection:
    """Selects the continuations of constrained beam search; a `Select`.

    The candidates are the best continuations of all hypotheses together, the best of each hypothesis, and the
    continuations that advance a phrase. Candidates with equally many phrase pieces form a bank. The beam takes the best
    candidate of each bank, then the second of each, and so on, banks with more phrase pieces first. Post and Vilar
    (2018, section 3) instead give each bank an equal share of the beam and reassign unused shares.
    """

    constraints: Constraints

    def __call__(self, beam: Beam, next_pieces: NextPieces) -> tuple[Tensor, Tensor, Tensor]:
        slots = beam.finished.shape[1]
        parents, pieces = self._candidates(beam, next_pieces)  # [batch, candidates]
        values = next_pieces.log_probabilities(parents, pieces)
        totals = take_slots(beam.log_probabilities, parents) + values
        possible = (pieces != PAD) & (totals > IMPOSSIBLE / 2) & ops.logical_not(take_slots(beam.finished, parents))
        states = ConstraintState(*(take_slots(values, parents) for values in _constraint_state(beam)))
        missing = self.constraints.missing(self.constraints.advance(states, pieces))
        banks = ops.shape(self.constraints.phrases)[1] * ops.shape(self.constraints.phrases)[2] + 1
        rank = ops.minimum(rank_in_bank(totals, missing, possible, banks), slots)  # higher ranks are never selected
        key = ops.cast(rank, "float32") * 1e4 + ops.cast(missing, "float32")
        _, order = ops.top_k(ops.where(possible, -key, IMPOSSIBLE), slots)
        pieces = ops.where(possible, pieces, NO_PIECE)
        parents, pieces, values = (gather_within(each, ops.cast(order, "int32")) for each in (parents, pieces, values))
        return parents, pieces, values

    def _candidates(self, beam: Beam, next_pieces: NextPieces) -> tuple[Tensor, Tensor]:
        """Parents and pieces of the candidates, int32 [batch, candidates]; PAD in place of a duplicate."""
        batch, slots = ops.shape(beam.finished)[0], beam.finished.shape[1]
        # The best `slots` of each hypothesis include the best of all together and the best of each.
        _, most_probable = next_pieces.most_probable(next_pieces.available(slots))
        needed = self.constraints.needed_pieces(_constraint_state(beam))
        pieces = ops.concatenate([most_probable, needed], axis=-1)  # [batch, slots, count + phrases]
        pieces = ops.where(_is_duplicate(pieces), PAD, pieces)
        parents = ops.broadcast_to(ops.arange(slots, dtype="int32")[:, None], ops.shape(pieces))
        return ops.reshape(parents, (batch, -1)), ops.reshape(pieces, (batch, -1))


def _is_duplicate(pieces: Tensor) -> Tensor:
    """Whether a piece equals an earlier one of the same row: [..., row] -> bool [..., row]."""
    count = ops.shape(pieces)[-1]
    earlier = ops.arange(count)[None, :] < ops.arange(count)[:, None]
    return ops.any((pieces[..., :, None] == pieces[..., None, :]) & earlier, axis=-1)


def rank_in_bank(totals: Tensor, missing: Tensor, possible: Tensor, banks: Tensor) -> Tensor:
    """Number of better candidates in the same bank, int32 [batch, candidates]. Of two equals the earlier is better.

    The count runs from the best candidate to the worst, so memory grows with the candidates and not with their square.

    Args:
        totals: log-probabilities, float32 [batch, candidates].
        missing: bank of each candidate, int32 [batch, candidates], below `banks`.
        possible: whether the candidate counts, bool [batch, candidates].
        banks: number of banks.
    """
    order = ops.argsort(-totals, axis=-1)
    bank_numbers = ops.arange(banks, dtype="int32")
    of_bank = gather_within(missing, order)[:, :, None] == bank_numbers  # [batch, candidates, banks]
    counted = ops.cast(of_bank & gather_within(possible, order)[:, :, None], "int32")
    better = ops.cumsum(counted, axis=1) - counted
    ranks = ops.sum(ops.where(of_bank, better, 0), axis=-1)
    return gather_within(ranks, ops.argsort(order, axis=-1))
