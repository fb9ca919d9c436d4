"""Preferred phrases: a bonus for hypotheses that contain them where the model attends to their source.

A bonus alone moves phrases to wrong places: greedy search writes a phrase as soon as the bonus outweighs its
improbability, before its turn. So the bonus depends on the attention that the source of the phrase receives when its
first piece is written (compare Chatterjee et al. 2017, "Guiding Neural Machine Translation Decoding with External
Knowledge", section 3.2). It falls when the turn of the phrase passes, so that a phrase does not follow the beginning of
another translation of the same source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from nmt.backend import Tensor, ops
from nmt.search.hypotheses import Beam
from nmt.search.phrase_tracking import PhraseState, PhraseTracker
from nmt.search.restrictions import Restriction


class PreferenceState(NamedTuple):
    """The preferred phrases of each hypothesis."""

    phrases: PhraseState
    bonuses: Tensor
    """Bonus for the phrase of each form in nats, float32 [batch, slots, forms]: of the step that began the phrase, or
    of the last step."""
    passed: Tensor
    """Sum of the attention shares of the steps that did not begin the phrase, float32 [batch, slots, forms]."""


@dataclass(frozen=True)
class PreferredPhrases(Restriction):
    """A bonus for each phrase that a hypothesis contains; no piece is forbidden.

    The bonus counts from the first piece of a phrase on, because the first piece decides. A hypothesis that abandons
    the phrase loses it.

    Args:
        tracker: follows the phrases.
        sources: source positions of the phrase of each form, float32 [batch, forms, positions], 1 or 0.
        bonus: nats for a phrase whose source is attended to enough.
        little: attention up to which there is no bonus.
        enough: attention that is worth the whole bonus; the share of the bonus rises linearly between the two.
        late: nats that the bonus falls at each earlier step with enough attention.
    """

    tracker: PhraseTracker
    sources: Tensor
    bonus: float
    little: float
    enough: float
    late: float

    forbids = False

    def begin(self, batch: Tensor, slots: int) -> PreferenceState:
        phrases = self.tracker.begin(batch, slots)
        zeros = ops.zeros_like(phrases.met, dtype="float32")
        return PreferenceState(phrases, zeros, zeros)

    def attention(self, record: Tensor) -> Tensor:
        """Attention share of the source of each form's phrase at this step, 0 to 1.

        Args:
            record: attention weights, float32 [batch, slots, positions].

        Returns:
            float32 [batch, slots, forms].
        """
        received = ops.matmul(record, ops.transpose(self.sources, (0, 2, 1)))
        return ops.clip((received - self.little) / (self.enough - self.little), 0.0, 1.0)

    def advance(self, state: PreferenceState, pieces: Tensor, record: Tensor) -> PreferenceState:
        return self.after(state, pieces, self.attention(record))

    def after(self, state: PreferenceState, pieces: Tensor, attention: Tensor) -> PreferenceState:
        """The state after these pieces, int32 [batch, slots], and the `attention` of their step."""
        phrases = self.tracker.advance(state.phrases, pieces)
        begun_before = state.phrases.met | phrases.continued[:, :, None]
        bonuses = ops.maximum(self.bonus * attention - self.late * state.passed, 0.0)
        return PreferenceState(phrases, ops.where(begun_before, state.bonuses, bonuses), state.passed + attention)

    def total(self, state: PreferenceState) -> Tensor:
        """The bonus of each hypothesis in nats, float32 [batch, slots]."""
        phrases = state.phrases
        met = ops.sum(ops.where(phrases.met & self.tracker.first_forms[:, None, :], state.bonuses, 0.0), axis=-1)
        begun = ops.max(ops.where(self.tracker.alive_unmet(phrases), state.bonuses, 0.0), axis=-1)
        return met + begun

    def highest_total(self, state: PreferenceState) -> Tensor:
        """Upper bounds of the bonuses of all continuations, float32 [batch, slots]."""
        missing = ops.logical_not(state.phrases.met) & self.tracker.first_forms[:, None, :]
        return self.total(state) + self.bonus * ops.sum(ops.cast(missing, "float32"), axis=-1)

    def state_of(self, beam: Beam) -> PreferenceState:
        """The state of a beam's hypotheses."""
        return next(state for state in beam.restriction_states if isinstance(state, PreferenceState))
