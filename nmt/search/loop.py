"""The search loop that greedy search, beam search and sampling share: hypotheses grow by one piece per step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nmt.backend import Tensor, ops
from nmt.backend.gather_scatter import gather
from nmt.search.distribution import IMPOSSIBLE, Distribution, State, Step
from nmt.search.greedy_and_beam import NO_PIECE, Select, select_most_probable
from nmt.search.hypotheses import Beam, SearchResult, repeat_rows, take_slots
from nmt.search.length_and_coverage_penalty import Scoring
from nmt.search.next_pieces import NextPieces
from nmt.search.preferred_phrases import PreferredPhrases
from nmt.search.restrictions import Restriction
from nmt.text.pieces import BOS, EOS, PAD


@dataclass(frozen=True)
class SearchMethod:
    """How to search.

    Args:
        slots: hypotheses per sentence. With `select_most_probable` this is the beam size, and 1 is greedy search.
        select: chooses the continuations that go on.
        restrictions: rules about the next piece, applied in order.
        scoring: score that the hypotheses are sorted by.
        nbest: number of hypotheses that the user asks for, a number or an int32 scalar. The search of a sentence ends
            when no live hypothesis can become one of its best `nbest`.
        independent: true where every slot starts with its own empty hypothesis (sampling), false where one empty
            hypothesis branches into the slots (beam search).
        compact: whether the step function extends live hypotheses alone. Its number of rows then changes from step to
            step. False suits a compiler that fixes shapes: every slot has a row at every step.
        preferred: phrases whose bonus raises the scores; one of `restrictions`.
    """

    slots: int = 1
    select: Select = select_most_probable
    restrictions: tuple[Restriction, ...] = ()
    scoring: Scoring = field(default_factory=Scoring)
    nbest: int | Tensor = 1
    independent: bool = False
    compact: bool = False
    preferred: PreferredPhrases | None = None


def search(
    step: Step,
    state: State,
    limits: Tensor,
    longest: Tensor,
    width: Tensor,
    method: SearchMethod,
    fixed: tuple[State, ...] = (),
) -> SearchResult:
    """Searches for the hypotheses with the highest scores.

    Args:
        step: extends hypotheses by one piece.
        state: first state of the step function, one row per sentence.
        limits: length limit of each sentence's hypotheses in pieces, end of sentence included, int32 [batch].
        longest: the greatest limit; a Python number for a backend that fixes shapes when it compiles.
        width: last axis of the step function's records, int32 scalar.
        method: how to search.
        fixed: structures that the step function reads at every step, one row per sentence.

    Returns:
        Finished hypotheses before cut ones, each group sorted by score. Slots after the first `method.nbest` hold
        hypotheses that were good when the search of their sentence ended.
    """
    beam, read = _empty_beam(state, limits, longest, width, method), _Fixed(fixed)

    def go_on(running: Tensor, *_: Any) -> Tensor:
        return ops.any(running)

    def body(running: Tensor, *fields: Any) -> tuple:
        # A sentence that has ended stays unchanged while others run, so its result does not depend on the batch.
        beam = _extend(Beam(*fields), step, read, running, method)
        return _can_improve(beam, limits, method), *beam

    _, *fields = ops.while_loop(go_on, body, (_can_improve(beam, limits, method), *beam))
    return _sorted(Beam(*fields), method)


def _empty_beam(state: State, limits: Tensor, longest: Tensor, width: Tensor, method: SearchMethod) -> Beam:
    """Empty hypotheses. Unless slots are independent, only the first slot of a sentence is possible at first."""
    batch, slots = ops.shape(limits)[0], method.slots
    others = 0.0 if method.independent else IMPOSSIBLE
    first = ops.convert_to_tensor([[0.0] + [others] * (slots - 1)], "float32", like=limits)
    return Beam(
        time=ops.zeros((), "int32", like=limits),
        tokens=ops.full((batch, slots, longest), PAD, "int32", like=limits),
        piece_log_probabilities=ops.zeros((batch, slots, longest), "float32", like=limits),
        records=ops.zeros((batch, slots, longest, width), "float32", like=limits),
        log_probabilities=ops.tile(first, (batch, 1)),
        finished=ops.zeros((batch, slots), "bool", like=limits),
        lengths=ops.zeros((batch, slots), "int32", like=limits),
        restriction_states=tuple(restriction.begin(batch, slots) for restriction in method.restrictions),
        state=repeat_rows(state, slots),
        state_rows=ops.arange(batch * slots, dtype="int32", like=limits),
    )


def _sorted(beam: Beam, method: SearchMethod) -> SearchResult:
    """The hypotheses in the order of `search`'s result."""
    scores = _scores(beam, ops.maximum(beam.lengths, 1), method)
    _, order = ops.top_k(scores, method.slots)
    # A cut hypothesis has not paid for its ending, so finished ones come first. top_k keeps the order of equals.
    finished = ops.take_along_axis(beam.finished, order, axis=1)
    _, finished_first = ops.top_k(ops.cast(finished, "float32"), method.slots)
    order = ops.take_along_axis(order, finished_first, axis=1)
    fields = beam._asdict() | {"scores": scores}
    return SearchResult(*(take_slots(fields[name], order) for name in SearchResult._fields))


class _Extension(NamedTuple):
    """The new content of every slot after one step, each [batch, slots]."""

    parents: Tensor
    """Slot whose hypothesis goes on here, int32; a slot that does not go on keeps its own."""
    pieces: Tensor
    """Piece that is appended, int32; PAD where none is."""
    continued: Tensor
    """Whether the slot's hypothesis goes on, bool."""
    costs: Tensor
    """Log-probability of the appended piece, float32; 0 where none is."""
    log_probabilities: Tensor
    """Log-probability of the whole hypothesis, float32."""
    finished: Tensor
    """Whether the hypothesis has ended, bool."""


class _Fixed:
    """The structures that the step function reads at every step.

    Args:
        structures: one row per sentence.
    """

    def __init__(self, structures: tuple[State, ...]) -> None:
        self.all = structures
        self._sentences: Tensor = None
        self._rows: tuple[State, ...] = ()

    def rows(self, sentences: Tensor) -> tuple[State, ...]:
        """The rows of some sentences, int32 [rows]. In NumPy, steps that read equal rows share them."""
        if not ops.is_numpy(sentences):
            return _take_rows(self.all, sentences)
        if self._sentences is None or not np.array_equal(sentences, self._sentences):
            self._sentences, self._rows = sentences, _take_rows(self.all, sentences)
        return self._rows


def _extend(beam: Beam, step: Step, fixed: _Fixed, running: Tensor, method: SearchMethod) -> Beam:
    """One step: the selected continuations replace the live hypotheses of each running sentence."""
    batch, slots = ops.shape(beam.finished)[0], method.slots
    next_pieces, state = _next_pieces(beam, step, fixed, running, method)
    new = _select(beam, next_pieces, running, method)
    rows = ops.reshape(take_slots(next_pieces.row_of_slot, new.parents), (-1,))
    record = ops.reshape(gather(next_pieces.record, rows), (batch, slots, ops.shape(next_pieces.record)[-1]))
    return Beam(
        time=beam.time + 1,
        tokens=_with_step(beam.tokens, new.pieces, new, beam.time),
        piece_log_probabilities=_with_step(beam.piece_log_probabilities, new.costs, new, beam.time),
        records=_with_step(beam.records, record, new, beam.time),
        log_probabilities=new.log_probabilities,
        finished=new.finished,
        lengths=take_slots(beam.lengths, new.parents) + ops.cast(new.continued, "int32"),
        restriction_states=_advance(beam, new, next_pieces, method.restrictions),
        state=state,
        state_rows=rows,
    )


def _with_step(history: Tensor, values: Tensor, new: _Extension, time: Tensor) -> Tensor:
    """The history of all steps, in the new order of the slots, with the values of this step where a slot goes on.

    Args:
        history: [batch, slots, longest, ...]; a NumPy array may be changed in place.
        values: [batch, slots, ...].
    """
    kept = take_slots(history, new.parents)
    continued = ops.reshape(new.continued, (*ops.shape(new.continued), *[1] * (len(history.shape) - 3)))
    if ops.is_numpy(kept, values, time):
        np.copyto(kept[:, :, int(time)], values, where=continued)
        return kept
    now = ops.arange(ops.shape(history)[2], dtype="int32", like=history) == time
    now = ops.reshape(now, (-1, *[1] * (len(history.shape) - 3)))
    return ops.where(ops.logical_and(continued[:, :, None], now), values[:, :, None], kept)


def _select(beam: Beam, next_pieces: NextPieces, running: Tensor, method: SearchMethod) -> _Extension:
    """Fills the slots with the selected continuations.

    If n slots of a sentence are live, its first n selections go on. A hypothesis that ends keeps its slot for good.
    """
    slots = method.slots
    parents, pieces, costs = method.select(beam, next_pieces)
    slot = ops.arange(slots, dtype="int32", like=pieces)[None, :]
    if _all(running) and _none(beam.finished):
        continued = ops.ones_like(beam.finished)
    else:
        live = slots - ops.sum(ops.cast(beam.finished, "int32"), axis=1, keepdims=True)  # [batch, 1]
        continued = (slot < live) & running[:, None]
        parents = ops.where(continued, parents, slot)
        pieces, costs = ops.where(continued, pieces, PAD), ops.where(continued, costs, 0.0)
    empty = pieces == NO_PIECE
    if not _none(empty):
        pieces, costs = ops.where(empty, PAD, pieces), ops.where(empty, IMPOSSIBLE, costs)
    log_probabilities = ops.maximum(take_slots(beam.log_probabilities, parents) + costs, IMPOSSIBLE)
    # An empty slot cannot end; a hypothesis may fill it later.
    ended = (pieces == EOS) & (log_probabilities > IMPOSSIBLE / 2)
    finished = ended | take_slots(beam.finished, parents)
    new = _Extension(parents, pieces, continued, costs, log_probabilities, finished)
    if slots == 1 or _none(ended):
        return new
    # Live hypotheses move to the front and keep their order, as the next step expects.
    _, order = ops.top_k(-ops.cast(finished, "int32") * slots - slot, slots)
    return _Extension(*(take_slots(values, ops.cast(order, "int32")) for values in new))


def _next_pieces(
    beam: Beam, step: Step, fixed: _Fixed, running: Tensor, method: SearchMethod
) -> tuple[NextPieces, State]:
    """Calls the step function and applies the restrictions. Returns its state too.

    The rows of the state are put into the order of the hypotheses here and nowhere else: the state of a Transformer
    holds the keys and values of all steps, and moving them takes as long as the step.
    """
    # The slots that get a row.
    slots = ops.arange(ops.shape(beam.tokens)[0] * method.slots, dtype="int32", like=beam.tokens)
    row_of_slot, state = slots, beam.state
    if method.compact:
        live = ~beam.finished & (beam.log_probabilities > IMPOSSIBLE / 2) & running[:, None]
        live = ops.reshape(live, (-1,))
        every = _all(live)
        if not every:
            row_of_slot = ops.maximum(ops.cumsum(ops.cast(live, "int32")) - 1, 0)
            slots = ops.cast(ops.nonzero(live)[0], "int32")
        read = fixed.all
        if method.slots > 1 or not every:  # otherwise nothing is left out or reordered
            state = _take_rows(state, gather(beam.state_rows, slots))
            read = fixed.rows(slots // method.slots if method.slots > 1 else slots)
        distribution, state, record = step(gather(_last_pieces(beam), slots), state, *read)
    else:
        state = _take_rows(state, beam.state_rows) if method.slots > 1 else state
        distribution, state, record = step(_last_pieces(beam), state, *repeat_rows(fixed.all, method.slots))
    forbidding = tuple(restriction for restriction in method.restrictions if restriction.forbids)
    if forbidding:
        distribution = _restricted(distribution, beam, slots, forbidding)
    return NextPieces(distribution, ops.reshape(row_of_slot, ops.shape(beam.finished)), record), state


def _restricted(
    distribution: Distribution, beam: Beam, slots: Tensor, restrictions: tuple[Restriction, ...]
) -> Distribution:
    """The distribution with forbidden pieces set to IMPOSSIBLE; its rows belong to `slots`, int32 [rows]."""
    forbidden = ops.zeros((*ops.shape(beam.finished), distribution.vocabulary), "bool", like=beam.finished)
    for restriction in restrictions:
        forbidden = restriction.forbid(beam, forbidden)
    forbidden = gather(ops.reshape(forbidden, (-1, distribution.vocabulary)), slots)
    if distribution.subset:
        forbidden = gather(forbidden, distribution.subset.pieces, axis=1)
    return distribution._replace(logits=ops.where(forbidden, IMPOSSIBLE, distribution.logits))


def _none(truths: Tensor) -> bool:
    """Whether NumPy knows that none is true. NumPy needs no program for both cases, so the search skips steps."""
    return ops.is_numpy(truths) and not truths.any()


def _all(truths: Tensor) -> bool:
    """Whether NumPy knows that all are true; see `_none`."""
    return ops.is_numpy(truths) and bool(truths.all())


def _take_rows(structure: State, rows: Tensor) -> State:
    return ops.map_structure(lambda values: gather(values, rows), structure)


def _last_pieces(beam: Beam) -> Tensor:
    """Last piece of every hypothesis, int32 [batch * slots]; BOS at the first step."""
    if ops.is_numpy(beam.time) and beam.time > 0:
        return ops.reshape(beam.tokens[:, :, beam.time - 1], (-1,))
    previous = gather(beam.tokens, ops.maximum(beam.time - 1, 0), axis=2)
    return ops.reshape(ops.where(beam.time == 0, BOS, previous), (-1,))


def _advance(beam: Beam, new: _Extension, next_pieces: NextPieces, restrictions: tuple[Restriction, ...]) -> State:
    """States of the restrictions after this step. A hypothesis that does not go on keeps its state.

    Otherwise the steps that other sentences still need would change the bonuses of finished hypotheses.
    """
    continued = new.continued

    def kept(after: Tensor, before: Tensor) -> Tensor:
        axes = [1] * (len(after.shape) - 2)
        return ops.where(ops.reshape(continued, (*ops.shape(continued), *axes)), after, before)

    states = []
    for restriction, state in zip(restrictions, beam.restriction_states, strict=True):
        known = state, restriction.read(next_pieces, state)
        before, step = ops.map_structure(lambda values: take_slots(values, new.parents), known)
        states.append(ops.map_structure(kept, restriction.advance(before, new.pieces, step), before))
    return tuple(states)


def _can_improve(beam: Beam, limits: Tensor, method: SearchMethod) -> Tensor:
    """Whether a live hypothesis of a sentence may still become one of its best `nbest`, bool [batch].

    A log-probability only falls, so `Scoring.bounds` gives the highest score that a live hypothesis can reach.
    """
    live = ~beam.finished & (beam.log_probabilities > IMPOSSIBLE / 2) & (beam.time < limits)[:, None]
    if isinstance(method.nbest, int) and method.nbest == method.slots:  # a live hypothesis is always among the best
        return ops.any(live, axis=1)
    if _none(beam.finished):
        return ops.any(live, axis=1)
    finished, _ = ops.top_k(ops.where(beam.finished, _scores(beam, beam.lengths, method), 2 * IMPOSSIBLE), method.slots)
    worst = gather(finished, method.nbest - 1, axis=1)  # of those that the user asks for
    return ops.any(live & (_bounds(beam, limits, method) > worst[:, None]), axis=1)


def _scores(beam: Beam, lengths: Tensor, method: SearchMethod) -> Tensor:
    """Scores with the refunds and bonuses of preferred phrases, float32 [batch, slots]."""
    preferred = method.preferred
    if preferred is None:
        return method.scoring.scores(beam.log_probabilities, lengths, beam.records)
    state = preferred.state_of(beam)
    log_probabilities = beam.log_probabilities + preferred.refund(state)
    return method.scoring.scores(log_probabilities, lengths, beam.records) + preferred.bonuses(state)


def _bounds(beam: Beam, limits: Tensor, method: SearchMethod) -> Tensor:
    """Upper bounds of the scores of all continuations, float32 [batch, slots].

    A log-probability with its refunds only falls.
    """
    preferred = method.preferred
    if preferred is None:
        return method.scoring.bounds(beam.log_probabilities, limits[:, None])
    refunded = beam.log_probabilities + preferred.refund(preferred.state_of(beam))
    return method.scoring.bounds(refunded, limits[:, None]) + preferred.highest_bonuses()
