"""The phrases that a hypothesis contains, tracked piece by piece. A phrase may have several forms; one of them is
enough."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from nmt.backend import Tensor, ops
from nmt.backend.gather_scatter import gather, gather_within
from nmt.text.pieces import PAD

START, OPEN, CLOSED = 1, 2, 4
"""Where a form may begin: at the start of the sentence, behind a piece that does not end in a letter, behind one that
does. Sums of these numbers are allowed."""


class PhraseState(NamedTuple):
    """The phrases that each hypothesis contains, and the forms that it is in the middle of."""

    met: Tensor
    """Whether the hypothesis contains the phrase of each form, bool [batch, slots, forms]."""
    alive: Tensor
    """Whether the end of the hypothesis is the incomplete beginning of each form, bool [batch, slots, forms]."""
    count: Tensor
    """Number of pieces of these beginnings, int32 [batch, slots]; 0 without one."""
    continued: Tensor
    """Whether the last piece continued a form, bool [batch, slots]."""
    closed: Tensor
    """Whether the last piece completed a form, bool [batch, slots]."""
    last: Tensor
    """The phrase that the last piece met, int32 [batch, slots]; -1: none."""
    place: Tensor
    """START, OPEN or CLOSED, int32 [batch, slots]."""


@dataclass(frozen=True)
class PhraseTracker:
    """Follows the forms of phrases through hypotheses, without overlap.

    A piece that does not continue a form abandons it; the form must begin again. A completed form whose last word
    continues behind it does not count, unless the longer text begins another form of the same phrase.

    Args:
        forms: int32 [batch, forms, longest], PAD after the end of each; a form of PAD alone stands for none.
        phrases: number of the phrase of each form, from 0, int32 [batch, forms]; -2 for a form of PAD alone.
        places: where each form may begin, a sum of START, OPEN and CLOSED, int32 [batch, forms].
        joins: pieces that continue the word before them, bool [vocabulary].
        opens: pieces that do not end in a letter or digit, bool [vocabulary].
    """

    forms: Tensor
    phrases: Tensor
    places: Tensor
    joins: Tensor
    opens: Tensor

    lengths: Tensor = field(init=False)
    """Number of pieces of each form, int32 [batch, forms]."""
    phrase_lengths: Tensor = field(init=False)
    """Number of pieces of the longest form of each form's phrase, int32 [batch, forms]."""
    first_forms: Tensor = field(init=False)
    """Whether a form is the first of its phrase, bool [batch, forms]."""

    def __post_init__(self) -> None:
        """Computes once what all steps of a search read."""
        lengths = ops.sum(ops.cast(self.forms != PAD, "int32"), axis=-1)
        same = self.phrases[:, :, None] == self.phrases[:, None, :]
        order = ops.arange(ops.shape(self.forms)[1], dtype="int32", like=self.forms)
        earlier = same & (order[None, :] < order[:, None])
        computed = {
            "lengths": lengths,
            "phrase_lengths": ops.max(ops.where(same, lengths[:, None, :], 0), axis=-1),
            "first_forms": ops.logical_not(ops.any(earlier, axis=-1)) & (lengths > 0),
        }
        for name, values in computed.items():
            object.__setattr__(self, name, values)

    def begin(self, batch: Tensor, slots: int) -> PhraseState:
        """The state of empty hypotheses."""
        zeros = ops.zeros((batch, slots), "int32", like=self.forms)
        met = ops.repeat((self.lengths == 0)[:, None, :], slots, axis=1)
        no = ops.zeros((batch, slots), "bool", like=self.forms)
        return PhraseState(met, ops.zeros_like(met), zeros, no, no, zeros - 1, zeros + START)

    def advance(self, state: PhraseState, pieces: Tensor) -> PhraseState:
        """The state after these pieces, int32 [batch, slots]."""
        went_on = state.closed & gather(self.joins, pieces)
        met = state.met & ops.logical_not(self._forms_of(state.last) & went_on[:, :, None])
        goes_on = state.alive & (self._next_of(state.count) == pieces[:, :, None])
        begins = (self._first_pieces(state, met) == pieces[:, :, None]) & ops.logical_not(met)
        continued = ops.any(goes_on, axis=-1)
        alive = ops.where(continued[:, :, None], goes_on, begins)
        count = ops.where(continued, state.count, 0) + 1
        complete = alive & (self.lengths[:, None, :] == count[:, :, None])
        fresh = complete & ops.logical_not(met)
        last = ops.where(ops.any(fresh, axis=-1), self._phrase_at(ops.argmax(fresh, axis=-1)), -1)
        met = met | self._forms_of(last)
        closed = ops.any(complete, axis=-1)
        # After a complete form only longer forms of the same phrase go on, so that phrases do not overlap.
        alive = alive & ops.logical_not(complete) & (ops.logical_not(closed)[:, :, None] | met)
        count = ops.where(ops.any(alive, axis=-1), count, 0)
        place = ops.where(gather(self.opens, pieces), OPEN, CLOSED)
        return PhraseState(met, alive, count, continued, closed, last, place)

    def next_of_alive(self, state: PhraseState, alive: Tensor) -> Tensor:
        """The pieces that continue these forms, bool [batch, slots, forms] -> int32; PAD elsewhere."""
        return ops.where(alive, self._next_of(state.count), PAD)

    def first_of_unmet(self, state: PhraseState) -> Tensor:
        """The first pieces of the forms of missing phrases, int32 [batch, slots, forms]; PAD elsewhere."""
        return self._first_pieces(state, state.met)

    def _first_pieces(self, state: PhraseState, met: Tensor) -> Tensor:
        possible = ops.bitwise_and(self.places[:, None, :], state.place[:, :, None]) > 0
        return ops.where(possible & ops.logical_not(met), self.forms[:, None, :, 0], PAD)

    def needed_pieces(self, state: PhraseState) -> Tensor:
        """Pieces that advance a missing phrase: they continue its forms, or begin one where none is incomplete.

        Returns:
            int32 [batch, slots, forms], PAD elsewhere.
        """
        alive = self.alive_unmet(state)
        begun = ops.any(alive, axis=-1)[:, :, None]
        return ops.where(begun, self.next_of_alive(state, alive), self.first_of_unmet(state))

    def most_of_phrase(self, values: Tensor) -> Tensor:
        """The greatest value of any form of each form's phrase: float32 [batch, slots, forms] -> the same shape."""
        batch, slots, forms = ops.shape(values)
        rows = ops.reshape(ops.arange(batch * slots, dtype="int32", like=values), (batch, slots, 1))
        phrases = ops.reshape(rows * forms + ops.maximum(self.phrases, 0)[:, None, :], (-1,))
        greatest = ops.segment_max(ops.reshape(values, (-1,)), phrases, batch * slots * forms)
        return ops.reshape(gather(greatest, phrases), (batch, slots, forms))

    def alive_unmet(self, state: PhraseState) -> Tensor:
        """The incomplete forms of missing phrases, bool [batch, slots, forms]."""
        return state.alive & ops.logical_not(state.met)

    def _next_of(self, count: Tensor) -> Tensor:
        """The piece of each form behind this many pieces: int32 [batch, slots] -> int32 [batch, slots, forms]."""
        is_next = ops.arange(ops.shape(self.forms)[2], dtype="int32", like=self.forms) == count[:, :, None]
        return ops.sum(ops.where(is_next[:, :, None, :], self.forms[:, None], 0), axis=-1)

    def _phrase_at(self, forms: Tensor) -> Tensor:
        """The phrases of forms: [batch, slots] -> int32 [batch, slots]."""
        return gather_within(self.phrases, ops.cast(forms, "int32"))

    def _forms_of(self, phrase: Tensor) -> Tensor:
        """The forms of a phrase: int32 [batch, slots] -> bool [batch, slots, forms]."""
        return self.phrases[:, None, :] == phrase[:, :, None]
