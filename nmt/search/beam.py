"""The one loop of every search: hypotheses grow by a piece a step until none that is live can still win."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

from keras import ops, tree

from nmt.backend import Tensor
from nmt.backend.gather_scatter import gather, gather_within
from nmt.search.likeliest import top_k
from nmt.search.ranking import Ranking
from nmt.text.pieces import BOS, EOS, PAD

State = Any
"""A structure of tensors, batch first, that the step function owns; search only reorders it."""

IMPOSSIBLE = -1e30
"""Log-probability of what cannot be; finite, so that sums of it stay numbers."""

SPARE = 3
"""How many more of the likeliest are looked at than wanted, where they are rounded."""


class Among(NamedTuple):
    """Some pieces out of all."""

    pieces: Tensor
    """Rising, int32 [places]; a piece may stand there more than once where it cannot come."""
    vocabulary: int
    """How many pieces there are."""


class Distribution(NamedTuple):
    """What comes next, a row a hypothesis."""

    logits: Tensor
    """Log-probabilities of the pieces, but for a number a row, float32 [rows, places]; a place is a piece, or what
    `among` says stands there."""
    log_sum: Tensor = 0.0
    """That number, by which they are too high, float32 [rows, 1]: only the few that are looked at pay it."""
    sharp: Callable[[Tensor], Tensor] | None = None
    """Log-probabilities at some places, int32 [rows, any], more exactly: float32 [rows, any]. The likeliest should be
    among them. None: all are exact."""
    never: tuple[int, ...] = ()
    """Pieces that cannot come."""
    among: Among | None = None
    """The pieces that can come, where these are not all."""

    @property
    def vocabulary(self) -> int:
        """How many pieces there are."""
        return self.among.vocabulary if self.among else self.logits.shape[-1]

    def pieces(self, places: Tensor) -> Tensor:
        """Which pieces stand at these places, int32 as they."""
        return gather(self.among.pieces, places) if self.among else places

    def places(self, pieces: Tensor) -> Tensor:
        """Where these pieces stand, int32 as they; what is not among those that can come, anywhere."""
        if not self.among:
            return pieces
        found = ops.searchsorted(self.among.pieces, ops.reshape(pieces, (-1,)))
        last = ops.shape(self.among.pieces)[0] - 1
        return ops.reshape(ops.minimum(ops.cast(found, "int32"), last), ops.shape(pieces))


Step = Callable[..., tuple[Distribution, State, Tensor]]
"""(last pieces [rows], state, *fixed) -> (distribution of the next piece, state, record).

What is fixed, [rows, ...], is the same at every step of a sentence. The record, [rows, width] of any width, is kept for
each step of each hypothesis (attention weights, for instance).
"""


class Beam(NamedTuple):
    """Hypotheses of a batch of sentences while they are searched; slots of a sentence are ordered live, finished."""

    time: Tensor
    """Steps made, int32 scalar."""
    tokens: Tensor
    """Pieces so far, int32 [batch, slots, longest]; PAD behind the end."""
    piece_log_probabilities: Tensor
    """Of each of them, float32 [batch, slots, longest]; 0 behind the end."""
    records: Tensor
    """What the step function recorded, float32 [batch, slots, longest, width]."""
    log_probabilities: Tensor
    """Of the pieces so far, float32 [batch, slots]."""
    finished: Tensor
    """Whether the hypothesis has ended, bool [batch, slots]; a finished one keeps its slot and pays no more."""
    lengths: Tensor
    """Pieces of the hypothesis, end of sentence included, int32 [batch, slots]."""
    progress: State
    """What the constraints remember of each hypothesis, leading axes [batch, slots]; () without constraints."""
    state: State
    """What the step function gave last, a row a hypothesis that it was asked about."""
    rows: Tensor
    """Which of these rows each hypothesis goes on from, int32 [batch * slots]."""


class Found(NamedTuple):
    """Hypotheses of each sentence, best first."""

    tokens: Tensor
    """int32 [batch, slots, longest]: pieces, then end of sentence where the hypothesis has one, then PAD."""
    piece_log_probabilities: Tensor
    """float32 [batch, slots, longest], in nats."""
    records: Tensor
    """float32 [batch, slots, longest, width]."""
    log_probabilities: Tensor
    """float32 [batch, slots], in nats; IMPOSSIBLE for a slot that holds no hypothesis."""
    scores: Tensor
    """What the order is by, see `Ranking`; float32 [batch, slots]."""
    finished: Tensor
    """Whether the hypothesis ended by itself, bool [batch, slots], or was cut at the greatest length."""
    lengths: Tensor
    """int32 [batch, slots]."""


@dataclass(frozen=True)
class Continuations:
    """What may come next behind each slot. Slots that the step function was not asked about share some row, which is
    never used.

    Args:
        said: the step function's distributions, what guides forbid made impossible.
        row_of_slot: which row is a slot's, int32 [batch, slots].
    """

    said: Distribution
    row_of_slot: Tensor

    def at_most(self, count: int) -> int:
        """So many, or as many as can come, where those are known and fewer."""
        return min(count, self.said.logits.shape[-1] or count)

    def likeliest(self, count: int) -> tuple[Tensor, Tensor]:
        """The greatest log-probabilities of each hypothesis and their pieces, int32, both [batch, slots, count]."""
        # What never comes is struck out of these few, not out of all pieces.
        spare = len(self.said.never) + (SPARE if self.said.sharp else 0)
        logits, places = top_k(self.said.logits, self.at_most(count + spare))
        pieces = self.said.pieces(places)
        possible = ops.logical_and(logits > IMPOSSIBLE / 2, ops.logical_not(self._never(pieces)))
        values = self.said.sharp(places) if self.said.sharp else logits - self.said.log_sum
        values, order = ops.top_k(ops.where(possible, values, IMPOSSIBLE), count)
        pieces = gather_within(pieces, ops.cast(order, "int32"))
        # Only now for all slots, of which there are more than rows.
        return gather(values, self.row_of_slot), gather(pieces, self.row_of_slot)

    def of(self, parents: Tensor, pieces: Tensor) -> Tensor:
        """The log-probabilities of pieces behind slots, float32 as these are, int32 [batch, any]."""
        rows = gather_within(self.row_of_slot, parents)
        width = ops.shape(self.said.logits)[1]
        logits = gather(ops.reshape(self.said.logits, (-1,)), rows * width + self.said.places(pieces))
        log_sums = gather(ops.broadcast_to(self.said.log_sum, (ops.shape(self.said.logits)[0], 1))[:, 0], rows)
        return ops.where(self._never(pieces), IMPOSSIBLE, logits - log_sums)

    def everything(self) -> Tensor:
        """The log-probabilities of all pieces, where all can come, float32 [batch, slots, vocabulary]."""
        never = self._never(ops.arange(self.said.vocabulary))
        values = ops.where(never, IMPOSSIBLE, self.said.logits - self.said.log_sum)
        return gather(values, self.row_of_slot)

    def _never(self, pieces: Tensor) -> Tensor:
        if not self.said.never:
            return ops.zeros_like(pieces, dtype="bool")
        return reduce(ops.logical_or, (pieces == piece for piece in self.said.never))


Choose = Callable[[Beam, Continuations], tuple[Tensor, Tensor, Tensor]]
"""(beam, continuations of its hypotheses) -> (parents, pieces, their log-probabilities), int32, int32 and float32
[batch, slots].

The first live-width of them, in order, go on: slot `parents` with `pieces` after it, where that is not `NOTHING`.
"""

NOTHING = -1
"""In place of a piece: this slot stays empty."""


class Guide:
    """What may come next, by what a hypothesis holds so far. This one lets everything through; see `restrictions`
    and `constraints`."""

    def begin(self, batch: Tensor, slots: int) -> State:
        """What is remembered of empty hypotheses."""
        return ()

    def forbid(self, beam: Beam, banned: Tensor) -> Tensor:
        """Adds to the pieces that may not come next, or takes from them: bool [batch, slots, vocabulary]."""
        return banned

    def advance(self, progress: State, pieces: Tensor) -> State:
        """What is remembered after these pieces, int32 [batch, slots]."""
        return progress


def best_continuations(beam: Beam, continuations: Continuations) -> tuple[Tensor, Tensor, Tensor]:
    """Beam search's choice: the most probable continuations of all live hypotheses together."""
    return ranked_continuations(beam, continuations)


def ranked_continuations(
    beam: Beam, continuations: Continuations, diversity: float = 0.0, margin: float = 0.0, wanted: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """The most probable continuations that are not too far behind.

    Args:
        diversity: the k-th best of one hypothesis pays k times this in the choice, and in nothing else, so that
            siblings do not fill the beam (Li, Monroe and Jurafsky 2016, eq. 8).
        margin: what lies more than so many nats behind the `wanted`-th best leaves its slot empty (Freitag and
            Al-Onaizan 2017, section 3, absolute threshold pruning); 0: nothing does.
    """
    slots = beam.finished.shape[1]
    kept = continuations.at_most(slots)
    values, pieces = continuations.likeliest(kept)  # all others stand behind these
    if slots == 1:
        return ops.zeros_like(pieces[:, :, 0]), pieces[:, :, 0], values[:, :, 0]
    totals = beam.log_probabilities[:, :, None] + values
    if diversity:
        totals = totals - diversity * ops.arange(kept, dtype="float32")
    totals = ops.where(beam.finished[:, :, None], 2 * IMPOSSIBLE, totals)
    chosen, flat = ops.top_k(ops.reshape(totals, (-1, slots * kept)), slots)
    flat = ops.cast(flat, "int32")
    pieces, values = (gather_within(ops.reshape(each, (-1, slots * kept)), flat) for each in (pieces, values))
    if margin:
        pieces = ops.where(chosen < chosen[:, wanted - 1 : wanted] - margin, NOTHING, pieces)
    return flat // kept, pieces, values


@dataclass(frozen=True)
class Search:
    """How hypotheses are searched for.

    Args:
        slots: hypotheses a sentence; with `best_continuations` the beam size, and 1 is greedy search.
        choose: which continuations go on.
        guides: what may come next, asked in order.
        ranking: what the result is ordered by.
        wanted: how many hypotheses are searched for: a sentence's search ends when no live one can become one of its
            best `wanted`.
        independent: whether slots are independent from the first step on (samples), or branch from one hypothesis.
        compact: whether the step function is asked about live hypotheses alone, a number of rows that changes from
            step to step; else about all slots, as a compiler wants that fixes shapes.
    """

    slots: int = 1
    choose: Choose = best_continuations
    guides: tuple[Guide, ...] = ()
    ranking: Ranking = field(default_factory=Ranking)
    wanted: int = 1
    independent: bool = False
    compact: bool = False


def repeat_rows(structure: State, times: int) -> State:
    """Every row of every tensor `times` times in a row: [batch, ...] -> [batch * times, ...]."""
    if times == 1:
        return structure
    return tree.map_structure(lambda values: ops.repeat(values, times, axis=0), structure)


def take_slots(values: Tensor, slots: Tensor) -> Tensor:
    """values [batch, slots, ...] in the order of slots [batch, chosen] -> [batch, chosen, ...]."""
    if values.shape[1] == slots.shape[1] == 1:
        return values
    return gather_within(values, slots)


def search(
    step: Step, state: State, limits: Tensor, longest: Tensor, width: Tensor, how: Search, fixed: tuple[State, ...] = ()
) -> Found:
    """Searches for the hypotheses that rank highest.

    Args:
        step: continues a hypothesis by one piece.
        state: first state, one row a sentence.
        limits: greatest length of each sentence's hypotheses in pieces, end of sentence included, int32 [batch].
        longest: the greatest of them, a number (known when the search is compiled, where the backend needs that).
        width: last axis of what the step records, int32 scalar.
        how: kind of search.
        fixed: structures that the step function reads, one row a sentence.

    Returns:
        The hypotheses, finished ones before those that were cut, each kind by its score. Slots behind the first
        `how.wanted` hold what was found until a sentence's search ended.
    """
    beam = _start(state, ops.shape(limits)[0], longest, width, how)

    def go_on(running: Tensor, *_: Any) -> Tensor:
        return ops.any(running)

    def body(running: Tensor, *fields: Any) -> tuple:
        # A sentence that is done waits for its batch mates, so that they do not change its result.
        beam = _extend(Beam(*fields), step, fixed, running, how)
        return _can_improve(beam, limits, how), *beam

    _, *fields = ops.while_loop(go_on, body, (_can_improve(beam, limits, how), *beam))
    beam = Beam(*fields)
    scores = how.ranking.scores(beam.log_probabilities, ops.maximum(beam.lengths, 1), beam.records)
    _, order = ops.top_k(scores, how.slots)
    # Finished hypotheses first, for a cut one lacks the cost of its ending; of equals the first stays the first.
    ended = ops.take_along_axis(beam.finished, order, axis=1)
    _, parted = ops.top_k(ops.cast(ended, "float32"), how.slots)
    order = ops.take_along_axis(order, parted, axis=1)
    held = beam._asdict()
    fields = [scores if name == "scores" else held[name] for name in Found._fields]
    return Found(*(take_slots(values, order) for values in fields))


def _start(state: State, batch: Tensor, longest: Tensor, width: Tensor, how: Search) -> Beam:
    """Empty hypotheses: one live a sentence, the other slots impossible until it has branched, unless the slots are
    independent."""
    others = 0.0 if how.independent else IMPOSSIBLE
    first = ops.convert_to_tensor([[0.0] + [others] * (how.slots - 1)], "float32")
    return Beam(
        time=ops.zeros((), "int32"),
        tokens=ops.full((batch, how.slots, longest), PAD, "int32"),
        piece_log_probabilities=ops.zeros((batch, how.slots, longest), "float32"),
        records=ops.zeros((batch, how.slots, longest, width), "float32"),
        log_probabilities=ops.tile(first, (batch, 1)),
        finished=ops.zeros((batch, how.slots), "bool"),
        lengths=ops.zeros((batch, how.slots), "int32"),
        progress=tuple(guide.begin(batch, how.slots) for guide in how.guides),
        state=repeat_rows(state, how.slots),
        rows=ops.arange(batch * how.slots, dtype="int32"),
    )


def _extend(beam: Beam, step: Step, fixed: tuple[State, ...], running: Tensor, how: Search) -> Beam:
    """One step: the live hypotheses of each running sentence are replaced by continuations of theirs.

    With f finished hypotheses, the first (slots - f) chosen continuations go on; those that end take their slot for
    good.
    """
    batch, slots = ops.shape(beam.finished)[0], how.slots
    continuations, state, record = _continuations(beam, step, fixed, running, how)
    parents, pieces, values = how.choose(beam, continuations)
    live = slots - ops.sum(ops.cast(beam.finished, "int32"), axis=1, keepdims=True)  # [batch, 1]
    # Slot k continues choice k while k is under the live width; the finished stay where they are, behind.
    place = ops.arange(slots, dtype="int32")[None, :]
    continued = ops.logical_and(place < live, running[:, None])
    empty = ops.logical_and(continued, pieces == NOTHING)
    parents = ops.where(continued, parents, place)
    pieces = ops.where(ops.logical_or(empty, ops.logical_not(continued)), PAD, pieces)
    paid = ops.where(empty, IMPOSSIBLE, ops.where(continued, values, 0.0))
    log_probabilities = ops.maximum(take_slots(beam.log_probabilities, parents) + paid, IMPOSSIBLE)
    # A slot that no hypothesis fills cannot end: it waits for one.
    ended = ops.logical_and(pieces == EOS, log_probabilities > IMPOSSIBLE / 2)
    finished = ops.logical_or(ended, take_slots(beam.finished, parents))
    if slots > 1:  # live hypotheses first, each kind in its order, so that the next step finds them in front
        _, order = ops.top_k(-ops.cast(finished, "int32") * slots - place, slots)
        changed = (parents, pieces, continued, paid, log_probabilities, finished)
        parents, pieces, continued, paid, log_probabilities, finished = (
            take_slots(values, ops.cast(order, "int32")) for values in changed
        )
    now = ops.arange(ops.shape(beam.tokens)[2], dtype="int32") == beam.time
    written = ops.logical_and(continued[:, :, None], now)  # [batch, slots, longest]
    rows = ops.reshape(take_slots(continuations.row_of_slot, parents), (-1,))
    record = ops.reshape(gather(record, rows), (batch, slots, ops.shape(record)[-1]))
    return Beam(
        time=beam.time + 1,
        tokens=ops.where(written, pieces[:, :, None], take_slots(beam.tokens, parents)),
        piece_log_probabilities=ops.where(written, paid[:, :, None], take_slots(beam.piece_log_probabilities, parents)),
        records=ops.where(written[..., None], record[:, :, None, :], take_slots(beam.records, parents)),
        log_probabilities=log_probabilities,
        finished=finished,
        lengths=take_slots(beam.lengths, parents) + ops.cast(continued, "int32"),
        progress=_advance(beam, parents, pieces, how.guides),
        state=state,
        rows=rows,
    )


def _continuations(
    beam: Beam, step: Step, fixed: tuple[State, ...], running: Tensor, how: Search
) -> tuple[Continuations, State, Tensor]:
    """What the step function says of live hypotheses, those that guides let through; state and record of its rows.

    The state is put into the order of the hypotheses only here: of a Transformer it is the keys and values of all
    steps, and to move them takes as long as the step."""
    asked = ops.arange(ops.shape(beam.tokens)[0] * how.slots, dtype="int32")  # slots
    if how.compact:
        live = ops.logical_not(beam.finished) & (beam.log_probabilities > IMPOSSIBLE / 2) & running[:, None]
        live = ops.reshape(live, (-1,))
        asked = ops.cast(ops.nonzero(live)[0], "int32")
        row_of_slot = ops.maximum(ops.cumsum(ops.cast(live, "int32")) - 1, 0)
        state = _take_rows(beam.state, gather(beam.rows, asked))
        sentences = asked // how.slots if how.slots > 1 else asked
        read = _take_rows(fixed, sentences)
        said, state, record = step(gather(_last_pieces(beam), asked), state, *read)
    else:
        row_of_slot = asked
        state = _take_rows(beam.state, beam.rows) if how.slots > 1 else beam.state
        said, state, record = step(_last_pieces(beam), state, *repeat_rows(fixed, how.slots))
    if how.guides:
        banned = ops.zeros((*ops.shape(beam.finished), said.vocabulary), "bool")
        for guide in how.guides:
            banned = guide.forbid(beam, banned)
        banned = gather(ops.reshape(banned, (-1, said.vocabulary)), asked)
        banned = gather(banned, said.among.pieces, axis=1) if said.among else banned
        said = said._replace(logits=ops.where(banned, IMPOSSIBLE, said.logits))
    return Continuations(said, ops.reshape(row_of_slot, ops.shape(beam.finished))), state, record


def _take_rows(structure: State, rows: Tensor) -> State:
    return tree.map_structure(lambda values: gather(values, rows), structure)


def _last_pieces(beam: Beam) -> Tensor:
    previous = gather(beam.tokens, ops.maximum(beam.time - 1, 0), axis=2)
    return ops.reshape(ops.where(beam.time == 0, BOS, previous), (-1,))


def _advance(beam: Beam, parents: Tensor, pieces: Tensor, guides: tuple[Guide, ...]) -> State:
    return tuple(
        guide.advance(tree.map_structure(lambda values: take_slots(values, parents), progress), pieces)
        for guide, progress in zip(guides, beam.progress, strict=True)
    )


def _can_improve(beam: Beam, limits: Tensor, how: Search) -> Tensor:
    """Whether any live hypothesis of a sentence may still become one of the wanted best, bool [batch].

    A log-probability only falls, and the ranking says what a live hypothesis can reach at best.
    """
    alive = ops.logical_not(beam.finished) & (beam.log_probabilities > IMPOSSIBLE / 2)
    alive = alive & (beam.time < limits)[:, None]
    if how.wanted == how.slots:  # as long as one lives, there is a place for it
        return ops.any(alive, axis=1)
    scores = how.ranking.scores(beam.log_probabilities, beam.lengths, beam.records)
    finished, _ = ops.top_k(ops.where(beam.finished, scores, 2 * IMPOSSIBLE), how.wanted)
    bounds = how.ranking.bounds(beam.log_probabilities, limits[:, None])
    return ops.any(alive & (bounds > finished[:, -1:]), axis=1)
