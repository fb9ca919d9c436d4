"""Preferred phrases: each takes the place and the probability of the piece that the model would write instead.

A bonus alone moves phrases to wrong places, and a beam with a bonus prefers beginnings after which an unusual phrase
costs little. So a phrase replaces a given piece: a hypothesis may begin the phrase where the model attends to the
source of the phrase, and the phrase then costs as many nats as the replaced piece (compare Chatterjee et al. 2017,
"Guiding Neural Machine Translation Decoding with External Knowledge", section 3.2, where attention gates the phrase).

This is the cost of the most probable form. A less probable form costs more, so that the model decides between singular
and plural: as many nats as their probabilities differ by, as far as both are known where they part. A form of one piece
is known there whole; of longer forms only the first piece is. A hypothesis that writes the replaced word directly
behind the phrase loses all advantages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nmt.backend import Tensor, ops
from nmt.search.distribution import IMPOSSIBLE
from nmt.search.hypotheses import Beam
from nmt.search.next_pieces import NextPieces
from nmt.search.phrase_tracking import PhraseState, PhraseTracker
from nmt.search.restrictions import Restriction
from nmt.text.pieces import PAD


class PreferenceState(NamedTuple):
    """The preferred phrases of each hypothesis."""

    phrases: PhraseState
    in_place: Tensor
    """Whether the phrase of each form may begin at the last step, or began at its place, bool [batch, slots, forms]."""
    prices: Tensor
    """Log-probability of the replaced piece where the phrase of each form began, float32 [batch, slots, forms]."""
    rivals: Tensor
    """There, the log-probability of the phrase's most probable form of one piece, in this shape."""
    known: Tensor
    """Log-probability of the pieces since then, in this shape: where several forms could go on, of the most probable
    one. IMPOSSIBLE for a form of one piece."""


class Places(NamedTuple):
    """The phrases that the next piece may begin, and the price of each."""

    here: Tensor
    """Whether the phrase of each form may begin here, bool [batch, slots, forms]."""
    prices: Tensor
    """Log-probability of the piece that each phrase replaces, float32 [batch, slots, forms]."""
    rivals: Tensor
    """Log-probability of the most probable form of one piece of each form's phrase, in this shape."""
    first: Tensor
    """Log-probability of the most probable first piece of its longer forms, in this shape."""
    next: Tensor
    """Log-probability of the most probable piece that continues the phrase of each form, in this shape."""


@dataclass(frozen=True)
class PreferredPhrases(Restriction):
    """Phrases that replace other pieces; no piece is forbidden.

    A phrase that began at its place costs the log-probability of the replaced piece alone, and earns a bonus. Both
    count from its first piece on. A hypothesis loses them if it abandons the phrase, or writes the replaced word
    directly behind it while it attends to the source of the phrase.

    Args:
        tracker: follows the phrases.
        replaced: the first piece of the word that the phrase of each form replaces, int32 [batch, forms]; PAD: none,
            and no bonus.
        words: this piece if it is the whole word, else PAD.
        sources: source positions of the phrase of each form, float32 [batch, forms, positions], 1 or 0.
        least: attention to these positions from which on the phrase may begin, float32 [batch, forms].
        bonus: nats for a phrase.
    """

    tracker: PhraseTracker
    replaced: Tensor
    words: Tensor
    sources: Tensor
    least: Tensor
    bonus: float

    forbids = False

    def begin(self, batch: Tensor, slots: int) -> PreferenceState:
        phrases = self.tracker.begin(batch, slots)
        no = ops.zeros_like(phrases.met)
        zeros = ops.cast(no, "float32")
        return PreferenceState(phrases, no, zeros, zeros, zeros)

    def read(self, next_pieces: NextPieces, state: PreferenceState) -> Places:
        """The places of the phrases in each slot."""
        attention = ops.matmul(next_pieces.records(), ops.transpose(self.sources, (0, 2, 1)))
        replaced = ops.repeat(self.replaced[:, None, :], ops.shape(attention)[1], axis=1)
        first = self.tracker.first_of_unmet(state.phrases)
        following = self.tracker.next_of_alive(state.phrases, state.phrases.alive)
        prices, first, following = _log_probabilities(next_pieces, (replaced, first, following))
        here = (attention >= self.least[:, None, :]) & (prices > IMPOSSIBLE / 2)
        short = (self.tracker.lengths == 1)[:, None, :]
        groups = ops.where(short, first, IMPOSSIBLE), ops.where(short, IMPOSSIBLE, first), following
        return Places(here, prices, *map(self.tracker.most_of_phrase, groups))

    def advance(self, state: PreferenceState, pieces: Tensor, places: Places) -> PreferenceState:
        phrases, met = self.tracker.advance(state.phrases, pieces), state.phrases.met
        goes_on = phrases.continued[:, :, None]
        begun = ops.where(phrases.met, IMPOSSIBLE, places.first)  # a form that its first piece completes has one piece
        known = ops.where(goes_on, ops.maximum(state.known + places.next, IMPOSSIBLE), begun)
        in_place = ops.where(goes_on, state.in_place, places.here)
        kept = met | goes_on
        return PreferenceState(
            phrases,
            ops.where(met, state.in_place & ops.logical_not(self._doubled(state, pieces, places)), in_place),
            ops.where(kept, state.prices, places.prices),
            ops.where(kept, state.rivals, places.rivals),
            ops.where(met, state.known, known),
        )

    def _doubled(self, state: PreferenceState, pieces: Tensor, places: Places) -> Tensor:
        """Whether these pieces are the replaced word directly behind its phrase, bool [batch, slots, forms]."""
        behind = state.phrases.last[:, :, None] == self.tracker.phrases[:, None, :]
        return places.here & behind & (pieces[:, :, None] == self.words[:, None, :])

    def refund(self, state: PreferenceState) -> Tensor:
        """Refunds of each hypothesis in nats, float32 [batch, slots]. Its log-probability with them only falls."""
        complete, begun = self._in_place(state)
        of_forms = ops.maximum(state.prices - ops.maximum(state.rivals, state.known), 0.0)
        refunds = ops.sum(ops.where(complete, of_forms, 0.0), axis=-1)
        return refunds + ops.max(ops.where(begun, of_forms, 0.0), axis=-1)

    def bonuses(self, state: PreferenceState) -> Tensor:
        """Bonuses of each hypothesis in nats, float32 [batch, slots]."""
        complete, begun = self._in_place(state)
        count = ops.sum(ops.cast(complete, "float32"), axis=-1) + ops.cast(ops.any(begun, axis=-1), "float32")
        return self.bonus * count

    def highest_bonuses(self) -> Tensor:
        """Upper bounds of the bonuses of all hypotheses, float32 [batch, 1]."""
        return self.bonus * ops.sum(ops.cast(self.tracker.first_forms, "float32"), axis=-1, keepdims=True)

    def _in_place(self, state: PreferenceState) -> tuple[Tensor, Tensor]:
        """The forms whose phrases began at their place, bool [batch, slots, forms]: the first form of each complete
        phrase, and the incomplete forms."""
        complete = state.phrases.met & self.tracker.first_forms[:, None, :]
        return complete & state.in_place, self.tracker.alive_unmet(state.phrases) & state.in_place

    def state_of(self, beam: Beam) -> PreferenceState:
        """The state of a beam's hypotheses."""
        return next(state for state in beam.restriction_states if isinstance(state, PreferenceState))


def _log_probabilities(next_pieces: NextPieces, pieces: Sequence[Tensor]) -> list[Tensor]:
    """Log-probabilities of pieces after each slot, all int32 [batch, slots, forms]; IMPOSSIBLE for PAD."""
    batch, slots, forms = ops.shape(pieces[0])
    together, width = ops.concatenate(list(pieces), axis=-1), len(pieces) * forms
    flat = ops.reshape(together, (batch, slots * width))
    rows = ops.repeat(ops.arange(slots, dtype="int32", like=flat), width, axis=0)[None, :]
    values = next_pieces.log_probabilities(ops.broadcast_to(rows, ops.shape(flat)), flat)
    values = ops.where(together != PAD, ops.reshape(values, (batch, slots, width)), IMPOSSIBLE)
    return [values[:, :, place * forms : (place + 1) * forms] for place in range(len(pieces))]
