"""Preferred phrases: each takes the place and the probability of the piece that the model would write instead.

A bonus alone moves phrases to wrong places, and a beam with a bonus prefers beginnings after which an unusual phrase
costs little. So a phrase replaces a given piece: a hypothesis may begin the phrase where the model attends to the
source of the phrase, and the phrase then costs as many nats as the replaced piece (compare Chatterjee et al. 2017,
"Guiding Neural Machine Translation Decoding with External Knowledge", section 3.2, where attention gates the phrase).
"""

from __future__ import annotations

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
    refunds: Tensor
    """Nats by which the phrase of each form costs less than its pieces, float32 [batch, slots, forms], at least 0."""


class Places(NamedTuple):
    """The phrases that the next piece may begin, and the price of each."""

    here: Tensor
    """Whether the phrase of each form may begin here, bool [batch, slots, forms]."""
    prices: Tensor
    """Log-probability of the piece that each phrase replaces, float32 [batch, slots, forms]."""


@dataclass(frozen=True)
class PreferredPhrases(Restriction):
    """Phrases that replace other pieces; no piece is forbidden.

    A phrase that began at its place costs the log-probability of the replaced piece alone, and earns a bonus. Both
    count from its first piece on. A hypothesis that abandons the phrase loses them.

    Args:
        tracker: follows the phrases.
        replaced: the piece that the phrase of each form replaces, int32 [batch, forms]; PAD: none, and no bonus.
        sources: source positions of the phrase of each form, float32 [batch, forms, positions], 1 or 0.
        least: attention to these positions from which on the phrase may begin, float32 [batch, forms].
        bonus: nats for a phrase.
    """

    tracker: PhraseTracker
    replaced: Tensor
    sources: Tensor
    least: Tensor
    bonus: float

    forbids = False

    def begin(self, batch: Tensor, slots: int) -> PreferenceState:
        phrases = self.tracker.begin(batch, slots)
        no = ops.zeros_like(phrases.met)
        return PreferenceState(phrases, no, ops.cast(no, "float32"))

    def read(self, next_pieces: NextPieces) -> Places:
        """The places of the phrases in each slot."""
        attention = ops.matmul(next_pieces.records(), ops.transpose(self.sources, (0, 2, 1)))
        batch, slots, forms = ops.shape(attention)
        rows = ops.repeat(ops.arange(slots, dtype="int32", like=self.replaced), forms, axis=0)[None, :]
        pieces = ops.reshape(ops.repeat(self.replaced[:, None, :], slots, axis=1), (batch, slots * forms))
        prices = next_pieces.log_probabilities(ops.broadcast_to(rows, ops.shape(pieces)), pieces)
        prices = ops.reshape(prices, (batch, slots, forms))
        here = (attention >= self.least[:, None, :]) & (self.replaced != PAD)[:, None, :]
        return Places(here & (prices > IMPOSSIBLE / 2), prices)

    def advance(self, state: PreferenceState, pieces: Tensor, values: Tensor, places: Places) -> PreferenceState:
        phrases = self.tracker.advance(state.phrases, pieces)
        spent = -values[:, :, None]
        began = ops.where(places.here, ops.maximum(places.prices + spent, 0.0), 0.0)
        goes_on = phrases.continued[:, :, None]
        refunds = ops.where(goes_on, state.refunds + spent, began)
        in_place = ops.where(goes_on, state.in_place, places.here)
        met = state.phrases.met
        return PreferenceState(
            phrases, ops.where(met, state.in_place, in_place), ops.where(met, state.refunds, refunds)
        )

    def refund(self, state: PreferenceState) -> Tensor:
        """Refunds of each hypothesis in nats, float32 [batch, slots]. Its log-probability with them only falls."""
        complete, begun = self._in_place(state)
        refunds = ops.sum(ops.where(complete, state.refunds, 0.0), axis=-1)
        return refunds + ops.max(ops.where(begun, state.refunds, 0.0), axis=-1)

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
