"""Greedy and beam search over a step function; knows no model.

Greedy search is beam search with one hypothesis: there is one loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops, tree

from nmt.attention import Tensor
from nmt.tokenizer import BOS, EOS, PAD

State = Any
"""A structure of tensors, batch first, that the step function owns; search only reorders it."""

Step = Callable[[Tensor, State], tuple[Tensor, State, Tensor]]
"""(last pieces [rows], state) -> (log-probabilities of the next piece [rows, vocabulary], state, record).

The record, [rows, width] of any width, is kept for each step of each hypothesis (attention weights, for instance).
"""

IMPOSSIBLE = -1e30
"""Log-probability of what cannot be; finite, so that sums of it stay numbers."""


class Beam(NamedTuple):
    """Hypotheses of a batch of sentences while they are searched; slots of a sentence are ordered live, finished."""

    time: Tensor
    """Steps made, int32 scalar."""
    tokens: Tensor
    """Pieces so far, int32 [batch, slots, longest]; PAD behind the end."""
    records: Tensor
    """What the step function recorded, float32 [batch, slots, longest, width]."""
    log_probabilities: Tensor
    """Of the pieces so far, float32 [batch, slots]."""
    finished: Tensor
    """Whether the hypothesis has ended, bool [batch, slots]; a finished one keeps its slot and pays no more."""
    lengths: Tensor
    """Pieces of the hypothesis, end of sentence included, int32 [batch, slots]."""
    state: State
    """The step function's state, rows [batch * slots]."""


class Found(NamedTuple):
    """Hypotheses of each sentence, best first."""

    tokens: Tensor
    """int32 [batch, slots, longest]: pieces, then end of sentence where the hypothesis has one, then PAD."""
    records: Tensor
    """float32 [batch, slots, longest, width]."""
    log_probabilities: Tensor
    """float32 [batch, slots], in nats; IMPOSSIBLE for a slot that holds no hypothesis."""
    scores: Tensor
    """Log-probability over length penalty, float32 [batch, slots]; what the order is by."""
    finished: Tensor
    """Whether the hypothesis ended by itself, bool [batch, slots], or was cut at the greatest length."""
    lengths: Tensor
    """int32 [batch, slots]."""


def length_penalty(lengths: Tensor, alpha: float) -> Tensor:
    """((5 + length) / 6) ** alpha (Wu et al. 2016, eq. 14); the end of sentence counts as a piece."""
    return ((5.0 + ops.cast(lengths, "float32")) / 6.0) ** alpha


def repeat_rows(structure: State, times: int) -> State:
    """Every row of every tensor `times` times in a row: [batch, ...] -> [batch * times, ...]."""
    return tree.map_structure(lambda values: ops.repeat(values, times, axis=0), structure)


def take_slots(values: Tensor, slots: Tensor) -> Tensor:
    """values [batch, slots, ...] in the order of slots [batch, chosen] -> [batch, chosen, ...]."""
    shape = ops.shape(values)
    rows = ops.arange(shape[0], dtype="int32")[:, None] * shape[1] + slots
    return ops.take(ops.reshape(values, (-1, *shape[2:])), rows, axis=0)


def start(state: State, batch: Tensor, slots: int, longest: Tensor, width: Tensor) -> Beam:
    """One live hypothesis a sentence, the empty one; the other slots are impossible until it has branched."""
    log_probabilities = ops.tile(ops.convert_to_tensor([[0.0] + [IMPOSSIBLE] * (slots - 1)], "float32"), (batch, 1))
    return Beam(
        time=ops.zeros((), "int32"),
        tokens=ops.full((batch, slots, longest), PAD, "int32"),
        records=ops.zeros((batch, slots, longest, width), "float32"),
        log_probabilities=log_probabilities,
        finished=ops.zeros((batch, slots), "bool"),
        lengths=ops.zeros((batch, slots), "int32"),
        state=repeat_rows(state, slots),
    )


def extend(beam: Beam, step: Step) -> Beam:
    """One step: the live hypotheses of each sentence are replaced by their best continuations.

    With f finished hypotheses, the best (slots - f) continuations go on; those that end take their slot for good.
    """
    batch, slots = ops.shape(beam.finished)[0], beam.finished.shape[1]
    longest = ops.shape(beam.tokens)[2]
    previous = ops.take(beam.tokens, ops.maximum(beam.time - 1, 0), axis=2)
    previous = ops.where(beam.time == 0, BOS, previous)
    continuations, state, record = step(ops.reshape(previous, (-1,)), beam.state)
    vocabulary = ops.shape(continuations)[-1]
    totals = beam.log_probabilities[:, :, None] + ops.reshape(continuations, (batch, slots, vocabulary))
    totals = ops.where(beam.finished[:, :, None], 2 * IMPOSSIBLE, totals)
    best, flat = ops.top_k(ops.reshape(totals, (batch, slots * vocabulary)), slots)
    live = slots - ops.sum(ops.cast(beam.finished, "int32"), axis=1, keepdims=True)  # [batch, 1]
    # Slot k continues candidate k while k is under the live width; the finished stay where they are, behind.
    place = ops.arange(slots, dtype="int32")[None, :]
    continued = place < live
    parents = ops.where(continued, ops.cast(flat // vocabulary, "int32"), place)
    pieces = ops.where(continued, ops.cast(flat % vocabulary, "int32"), PAD)
    log_probabilities = ops.where(continued, ops.maximum(best, IMPOSSIBLE), beam.log_probabilities)
    # A slot that no hypothesis fills cannot end: it waits for one.
    ended = ops.logical_and(pieces == EOS, log_probabilities > IMPOSSIBLE / 2)
    finished = ops.logical_or(ops.logical_not(continued), ended)
    # Live hypotheses first, each kind in its order, so that the next step finds them in front.
    order = ops.argsort(ops.cast(finished, "int32") * slots + place, axis=1)
    parents, pieces, continued = (take_slots(values, order) for values in (parents, pieces, continued))
    now = ops.arange(longest, dtype="int32") == beam.time
    record = take_slots(ops.reshape(record, (batch, slots, ops.shape(record)[-1])), parents)
    written = ops.logical_and(continued[:, :, None], now)  # [batch, slots, longest]
    rows = ops.reshape(ops.arange(batch, dtype="int32")[:, None] * slots + parents, (-1,))
    return Beam(
        time=beam.time + 1,
        tokens=ops.where(written, pieces[:, :, None], take_slots(beam.tokens, parents)),
        records=ops.where(written[..., None], record[:, :, None, :], take_slots(beam.records, parents)),
        log_probabilities=take_slots(log_probabilities, order),
        finished=take_slots(finished, order),
        lengths=take_slots(beam.lengths, parents) + ops.cast(continued, "int32"),
        state=tree.map_structure(lambda values: ops.take(values, rows, axis=0), state),
    )


def can_improve(beam: Beam, limits: Tensor, alpha: float) -> Tensor:
    """Whether any live hypothesis of a sentence may still become its best, bool [batch].

    A log-probability only falls, and the penalty is greatest at the greatest length: together they bound what a live
    hypothesis can score.
    """
    scores = beam.log_probabilities / length_penalty(beam.lengths, alpha)
    best_finished = ops.max(ops.where(beam.finished, scores, 2 * IMPOSSIBLE), axis=1)
    bounds = beam.log_probabilities / length_penalty(limits[:, None], alpha)
    alive = ops.logical_not(beam.finished) & (beam.log_probabilities > IMPOSSIBLE / 2)
    alive = alive & (beam.time < limits)[:, None]
    return ops.any(alive & (bounds > best_finished[:, None]), axis=1)


def beam_search(
    step: Step, state: State, limits: Tensor, longest: Tensor, width: Tensor, slots: int = 1, alpha: float = 0.0
) -> Found:
    """Searches for the pieces with the highest log-probability over length penalty.

    Args:
        step: continues a hypothesis by one piece.
        state: first state, one row a sentence.
        limits: greatest length of each sentence's hypotheses in pieces, end of sentence included, int32 [batch].
        longest: the greatest of them, a number (known when the search is compiled, where the backend needs that).
        width: last axis of what the step records, int32 scalar.
        slots: beam size; 1 is greedy search.
        alpha: of the length penalty; 0 ranks by log-probability.

    Returns:
        The hypotheses, finished ones before those that were cut, each kind by its score. A sentence's search ends when
        none of its live hypotheses can become the best, so slots behind the first hold what was found until then.
    """
    beam = start(state, ops.shape(limits)[0], slots, longest, width)

    def go_on(*fields: Any) -> Tensor:
        return ops.any(can_improve(Beam(*fields), limits, alpha))

    def body(*fields: Any) -> tuple:
        before = Beam(*fields)
        after = extend(before, step)
        # A sentence that is done waits for its batch mates, so that they do not change its result.
        running = can_improve(before, limits, alpha)
        return tuple(after._replace(**hold(before, after, running)))

    beam = Beam(*ops.while_loop(go_on, body, tuple(beam)))
    scores = beam.log_probabilities / length_penalty(ops.maximum(beam.lengths, 1), alpha)
    # Finished hypotheses first: a cut one lacks the cost of its ending.
    rank = ops.where(beam.finished, scores, scores + IMPOSSIBLE)
    _, order = ops.top_k(rank, slots)
    fields = (beam.tokens, beam.records, beam.log_probabilities, scores, beam.finished, beam.lengths)
    return Found(*(take_slots(values, order) for values in fields))


def hold(before: Beam, after: Beam, running: Tensor) -> dict[str, Tensor]:
    """The fields of a beam, taken from `after` for the sentences that are running and from `before` for the rest."""
    held = {}
    for name in ("tokens", "records", "log_probabilities", "finished", "lengths"):
        old, new = getattr(before, name), getattr(after, name)
        held[name] = ops.where(ops.reshape(running, (-1,) + (1,) * (len(old.shape) - 1)), new, old)
    return held
