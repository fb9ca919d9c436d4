"""Lexically constrained search: phrases that must appear (dynamic beam allocation, Post and Vilar 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from nmt.backend import Tensor, ops
from nmt.backend.gather_scatter import gather_within
from nmt.search.distribution import IMPOSSIBLE
from nmt.search.greedy_and_beam import NO_PIECE
from nmt.search.hypotheses import Beam, take_slots
from nmt.search.next_pieces import EXTRA_CANDIDATES, NextPieces
from nmt.search.phrase_tracking import PhraseState, PhraseTracker
from nmt.search.preferred_phrases import PreferredPhrases
from nmt.search.restrictions import Restriction, mark_pieces
from nmt.text.pieces import EOS, PAD

LEAST_CANDIDATES = 10
"""Continuations of each hypothesis with preferred phrases; the most probable ones may be endings of longer words."""


def most_candidates(slots: int, preferring: bool, impossible: int) -> int:
    """The greatest number of columns of a distribution that one step of beam search selects.

    Args:
        slots: hypotheses of a sentence.
        preferring: whether there are preferred phrases.
        impossible: number of pieces that never follow.
    """
    return _candidates(slots, preferring) + impossible + EXTRA_CANDIDATES


def _candidates(slots: int, preferring: bool) -> int:
    """Continuations of each hypothesis that a selection looks at, besides the pieces that phrases need."""
    return max(slots, LEAST_CANDIDATES) if preferring else slots


@dataclass(frozen=True)
class Constraints(Restriction):
    """Phrases that every finished hypothesis contains, in any order, without overlap. Of a phrase with several forms,
    one form is enough.

    A hypothesis that leaves a phrase before its end must begin the phrase again. A sentence ends only when all phrases
    are met. When the missing phrases fill all positions that are left, nothing else is allowed. Pieces that a phrase
    needs are allowed even if restrictions before this one forbid them. The last word of a phrase cannot continue after
    the phrase, except to a longer form of the same phrase.

    Args:
        tracker: follows the phrases.
        limits: length limit of each sentence's hypotheses, int32 [batch]; at least the longest form of each phrase and
            the end of sentence.
    """

    tracker: PhraseTracker
    limits: Tensor

    def begin(self, batch: Tensor, slots: int) -> PhraseState:
        return self.tracker.begin(batch, slots)

    def advance(self, state: PhraseState, pieces: Tensor, step: tuple) -> PhraseState:
        return self.tracker.advance(state, pieces)

    def missing(self, state: PhraseState) -> Tensor:
        """Number of pieces that a hypothesis needs at most to meet all phrases, int32 [batch, slots]."""
        lengths = ops.where(self.tracker.first_forms, self.tracker.phrase_lengths, 0)[:, None, :]
        return ops.sum(ops.where(state.met, 0, lengths), axis=-1) - self._begun(state)

    def _begun(self, state: PhraseState) -> Tensor:
        """Number of pieces of an incomplete missing phrase, int32 [batch, slots]."""
        return ops.where(ops.any(self.tracker.alive_unmet(state), axis=-1), state.count, 0)

    def forbid(self, beam: Beam, forbidden: Tensor) -> Tensor:
        state = _state_of(beam)
        missing, vocabulary = self.missing(state)[:, :, None], forbidden.shape[-1]
        left = (self.limits - beam.time)[:, None, None]
        needed = mark_pieces(self.tracker.needed_pieces(state), vocabulary)
        end = ops.arange(vocabulary, like=forbidden) == EOS
        longer = self._longer_forms(state, left - missing, vocabulary)
        word_goes_on = self.tracker.joins & state.closed[:, :, None] & ops.logical_not(longer)
        forbidden = forbidden | (end & (missing > 0)) | word_goes_on
        forbidden = ops.logical_and(forbidden, ops.logical_not(needed))
        # Any other piece abandons the current phrase, but it may begin another. The rest must still fit after it.
        begins = mark_pieces(self.tracker.first_of_unmet(state), vocabulary)
        required = missing + self._begun(state)[:, :, None] + ops.where(begins, 0, 1) + 1
        too_late = (missing > 0) & (required > left) & ops.logical_not(needed)
        return ops.logical_or(forbidden, too_late)

    def _longer_forms(self, state: PhraseState, left: Tensor, vocabulary: int) -> Tensor:
        """The pieces that continue a complete form to a longer one which fits, bool [batch, slots, vocabulary].

        Args:
            left: positions that other phrases leave, int32 [batch, slots, 1].
        """
        fits = self.tracker.phrase_lengths[:, None, :] - state.count[:, :, None] + 1 <= left
        return mark_pieces(self.tracker.next_of_alive(state, state.alive & state.met & fits), vocabulary)


@dataclass(frozen=True)
class PhraseSelection:
    """Selects the continuations of a search with required or preferred phrases; a `Select`.

    The candidates are the best continuations of all hypotheses together, the best of each hypothesis, and the
    continuations that advance a phrase. Preferred phrases raise the rank of a candidate by their bonus.

    Required phrases make banks: candidates that miss equally many phrase pieces. The beam takes the best candidate of
    each bank, then the second of each, and so on, banks with more phrase pieces first. Post and Vilar (2018, section 3)
    instead give each bank an equal share of the beam and reassign unused shares.

    Args:
        required: the required phrases; None: there is one bank.
        preferred: the preferred phrases.
    """

    required: Constraints | None
    preferred: PreferredPhrases | None = None

    def __call__(self, beam: Beam, next_pieces: NextPieces) -> tuple[Tensor, Tensor, Tensor]:
        slots = beam.finished.shape[1]
        parents, pieces = self._candidates(beam, next_pieces)  # [batch, candidates]
        values = next_pieces.log_probabilities(parents, pieces)
        totals = take_slots(beam.log_probabilities, parents) + values
        possible = (pieces != PAD) & (totals > IMPOSSIBLE / 2) & ops.logical_not(take_slots(beam.finished, parents))
        if self.preferred:
            totals = totals + self._bonuses(beam, next_pieces, parents, pieces)
        ranking = self._banked(beam, parents, pieces, totals, possible) if self.required else totals
        _, order = ops.top_k(ops.where(possible, ranking, IMPOSSIBLE), slots)
        pieces = ops.where(possible, pieces, NO_PIECE)
        parents, pieces, values = (gather_within(each, ops.cast(order, "int32")) for each in (parents, pieces, values))
        return parents, pieces, values

    def _banked(self, beam: Beam, parents: Tensor, pieces: Tensor, totals: Tensor, possible: Tensor) -> Tensor:
        """The order in which candidates are taken from the banks, the highest first, float32 [batch, candidates]."""
        required = cast(Constraints, self.required)
        states = PhraseState(*(take_slots(values, parents) for values in _state_of(beam)))
        missing = required.missing(required.tracker.advance(states, pieces))
        banks = ops.shape(required.tracker.forms)[1] * ops.shape(required.tracker.forms)[2] + 1
        # higher ranks are never selected
        rank = ops.minimum(rank_in_bank(totals, missing, possible, banks), beam.finished.shape[1])
        return -(ops.cast(rank, "float32") * 1e4 + ops.cast(missing, "float32"))

    def _bonuses(self, beam: Beam, next_pieces: NextPieces, parents: Tensor, pieces: Tensor) -> Tensor:
        """The refunds and bonuses of the candidates, float32 [batch, candidates]."""
        preferred = cast(PreferredPhrases, self.preferred)
        state = preferred.state_of(beam)
        known = state, preferred.read(next_pieces, state)
        state, places = ops.map_structure(lambda of_slots: take_slots(of_slots, parents), known)
        state = preferred.advance(state, pieces, places)
        return preferred.refund(state) + preferred.bonuses(state)

    def _candidates(self, beam: Beam, next_pieces: NextPieces) -> tuple[Tensor, Tensor]:
        """Parents and pieces of the candidates, int32 [batch, candidates]; PAD in place of a duplicate."""
        batch, slots = ops.shape(beam.finished)[0], beam.finished.shape[1]
        # The best `slots` of each hypothesis include the best of all together and the best of each.
        count = next_pieces.available(_candidates(slots, self.preferred is not None))
        _, pieces = next_pieces.most_probable(count)
        if self.required:
            needed = self.required.tracker.needed_pieces(_state_of(beam))
            pieces = ops.concatenate([pieces, needed], axis=-1)  # [batch, slots, count + forms]
        if self.preferred:
            needed = self.preferred.tracker.needed_pieces(self.preferred.state_of(beam).phrases)
            pieces = ops.concatenate([pieces, needed], axis=-1)
        pieces = ops.where(_is_duplicate(pieces), PAD, pieces)
        parents = ops.broadcast_to(ops.arange(slots, dtype="int32", like=pieces)[:, None], ops.shape(pieces))
        return ops.reshape(parents, (batch, -1)), ops.reshape(pieces, (batch, -1))


def _state_of(beam: Beam) -> PhraseState:
    """The state of the required phrases."""
    return next(state for state in beam.restriction_states if isinstance(state, PhraseState))


def _is_duplicate(pieces: Tensor) -> Tensor:
    """Whether a piece equals an earlier one of the same row: [..., row] -> bool [..., row]."""
    count = ops.shape(pieces)[-1]
    order = ops.arange(count, like=pieces)
    earlier = order[None, :] < order[:, None]
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
    bank_numbers = ops.arange(banks, dtype="int32", like=missing)
    of_bank = gather_within(missing, order)[:, :, None] == bank_numbers  # [batch, candidates, banks]
    counted = ops.cast(of_bank & gather_within(possible, order)[:, :, None], "int32")
    better = ops.cumsum(counted, axis=1) - counted
    ranks = ops.sum(ops.where(of_bank, better, 0), axis=-1)
    return gather_within(ranks, ops.argsort(order, axis=-1))
