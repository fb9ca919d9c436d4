"""Lexically constrained search: phrases that must appear (dynamic beam allocation, Post and Vilar 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from keras import ops

from nmt.backend import Tensor
from nmt.backend.gather_scatter import gather_within
from nmt.search.beam import IMPOSSIBLE, NOTHING, Beam, Continuations, Guide, take_slots
from nmt.search.restrictions import among
from nmt.text.pieces import EOS, PAD


class Progress(NamedTuple):
    """How far a hypothesis is with the phrases."""

    met: Tensor
    """Whether each phrase is there, bool [batch, slots, phrases]."""
    current: Tensor
    """The phrase that the last piece belongs to and that is not complete, int32 [batch, slots]; -1: none."""
    count: Tensor
    """Its pieces so far, int32 [batch, slots]; 0 without one."""
    closed: Tensor
    """Whether the last piece completed a phrase, bool [batch, slots]."""


@dataclass(frozen=True)
class Constraints(Guide):
    """Phrases that every finished hypothesis holds, in any order, without overlap.

    A hypothesis that leaves a phrase before its end has to begin it anew. The sentence does not end before all are
    met, and where only as many pieces are left as they take, nothing else comes. What a phrase needs is allowed
    whatever other guides say. After a phrase its last word may not be gone on with.

    Args:
        phrases: int32 [batch, phrases, longest], PAD behind the end of each; a phrase of nothing but PAD is none.
        joins: which pieces go on with the word before them, bool [vocabulary].
        limits: greatest length of each sentence's hypotheses, int32 [batch]; needs room for all phrases and the end of
            sentence.
    """

    phrases: Tensor
    joins: Tensor
    limits: Tensor

    @property
    def lengths(self) -> Tensor:
        """Pieces of each phrase, int32 [batch, phrases]."""
        return ops.sum(ops.cast(self.phrases != PAD, "int32"), axis=-1)

    def begin(self, batch: Tensor, slots: int) -> Progress:
        none = ops.zeros((batch, slots), "int32")
        met = ops.repeat((self.lengths == 0)[:, None, :], slots, axis=1)
        return Progress(met, none - 1, none, ops.zeros((batch, slots), "bool"))

    def advance(self, progress: Progress, pieces: Tensor) -> Progress:
        lengths, phrases = self.lengths[:, None, :], ops.shape(self.phrases)[1]
        goes_on = ops.logical_and(self._of_current(progress) == pieces, progress.current >= 0)
        # Else the piece may begin a phrase: the first that is not met.
        begins = ops.logical_and(self.phrases[:, None, :, 0] == pieces[:, :, None], ops.logical_not(progress.met))
        first = ops.where(ops.any(begins, axis=-1), ops.cast(ops.argmax(begins, axis=-1), "int32"), -1)
        current = ops.where(goes_on, progress.current, first)
        count = ops.where(goes_on, progress.count + 1, ops.cast(first >= 0, "int32"))
        here = ops.arange(phrases, dtype="int32") == current[:, :, None]  # [batch, slots, phrases]
        complete = ops.logical_and(here, lengths == count[:, :, None])
        closed = ops.any(complete, axis=-1)
        return Progress(
            met=ops.logical_or(progress.met, complete),
            current=ops.where(closed, -1, current),
            count=ops.where(closed, 0, count),
            closed=closed,
        )

    def _of_current(self, progress: Progress) -> Tensor:
        """The next piece of the phrase at hand, int32 [batch, slots]; PAD where there is none."""
        here = ops.arange(ops.shape(self.phrases)[1], dtype="int32") == progress.current[:, :, None]
        there = ops.arange(ops.shape(self.phrases)[2], dtype="int32") == progress.count[:, :, None]
        cells = ops.logical_and(here[..., None], there[:, :, None, :])  # [batch, slots, phrases, longest]
        return ops.sum(ops.where(cells, self.phrases[:, None], 0), axis=(2, 3))

    def next_pieces(self, progress: Progress) -> Tensor:
        """What brings a hypothesis further: the next piece of the phrase at hand, or the first one of each that is not
        met; int32 [batch, slots, phrases], PAD elsewhere."""
        first = ops.where(progress.met, PAD, self.phrases[:, None, :, 0])
        here = ops.arange(ops.shape(self.phrases)[1], dtype="int32") == progress.current[:, :, None]
        of_current = ops.where(here, self._of_current(progress)[:, :, None], PAD)
        return ops.where((progress.current >= 0)[:, :, None], of_current, first)

    def missing(self, progress: Progress) -> Tensor:
        """Pieces that a hypothesis needs to meet all phrases, int32 [batch, slots]."""
        unmet = ops.logical_not(progress.met)
        return ops.sum(ops.where(unmet, self.lengths[:, None, :], 0), axis=-1) - progress.count

    def forbid(self, beam: Beam, banned: Tensor) -> Tensor:
        progress = _progress(beam)
        missing, vocabulary = self.missing(progress)[:, :, None], banned.shape[-1]
        wanted = among(self.next_pieces(progress), vocabulary)
        end = ops.arange(vocabulary) == EOS
        banned = banned | (end & (missing > 0)) | (self.joins & progress.closed[:, :, None])
        banned = ops.logical_and(banned, ops.logical_not(wanted))
        # What is not wanted loses the phrase at hand, but may begin another; after it there must be room for the rest.
        begins = among(ops.where(progress.met, PAD, self.phrases[:, None, :, 0]), vocabulary)
        needed = missing + progress.count[:, :, None] + ops.where(begins, 0, 1) + 1
        late = (missing > 0) & (needed > (self.limits - beam.time)[:, None, None]) & ops.logical_not(wanted)
        return ops.logical_or(banned, late)


def _progress(beam: Beam) -> Progress:
    return next(progress for progress in beam.progress if isinstance(progress, Progress))


@dataclass(frozen=True)
class BankedContinuations:
    """The choice of constrained beam search; a `Search.choose`.

    Candidates are the best continuations of all hypotheses together, the best of each, and those that bring one further
    with the phrases. They are parted into banks by how many pieces of phrases they hold, and the beam takes the best of
    each bank, then the second of each, and so on, fuller banks first (Post and Vilar 2018, section 3, where each
    bank gets an equal share and lends what it cannot fill).
    """

    constraints: Constraints

    def __call__(self, beam: Beam, continuations: Continuations) -> tuple[Tensor, Tensor, Tensor]:
        slots = beam.finished.shape[1]
        parents, pieces = self._candidates(beam, continuations)  # [batch, candidates]
        values = continuations.of(parents, pieces)
        totals = take_slots(beam.log_probabilities, parents) + values
        possible = (pieces != PAD) & (totals > IMPOSSIBLE / 2) & ops.logical_not(take_slots(beam.finished, parents))
        progress = _progress(beam)
        of_parents = Progress(*(take_slots(values, parents) for values in progress))
        missing = self.constraints.missing(self.constraints.advance(of_parents, pieces))
        banks = ops.shape(self.constraints.phrases)[1] * ops.shape(self.constraints.phrases)[2] + 1
        rank = ops.minimum(_rank_in_bank(totals, missing, possible, banks), slots)  # of the others none is taken
        key = ops.cast(rank, "float32") * 1e4 + ops.cast(missing, "float32")
        _, order = ops.top_k(ops.where(possible, -key, IMPOSSIBLE), slots)
        pieces = ops.where(possible, pieces, NOTHING)
        parents, pieces, values = (gather_within(each, ops.cast(order, "int32")) for each in (parents, pieces, values))
        return parents, pieces, values

    def _candidates(self, beam: Beam, continuations: Continuations) -> tuple[Tensor, Tensor]:
        batch, slots = ops.shape(beam.finished)[0], beam.finished.shape[1]
        # The best `slots` of each hypothesis hold the best of all together, and the best of each.
        _, likeliest = continuations.likeliest(continuations.at_most(slots))
        wanted = self.constraints.next_pieces(_progress(beam))
        pieces = ops.concatenate([likeliest, wanted], axis=-1)  # [batch, slots, kept + phrases]
        pieces = ops.where(_seen_before(pieces), PAD, pieces)  # two phrases may begin alike, and with what is likely
        parents = ops.broadcast_to(ops.arange(slots, dtype="int32")[:, None], ops.shape(pieces))
        return ops.reshape(parents, (batch, -1)), ops.reshape(pieces, (batch, -1))


def _seen_before(pieces: Tensor) -> Tensor:
    """Which pieces equal an earlier one of their row, bool as `pieces`, [..., row]."""
    count = ops.shape(pieces)[-1]
    earlier = ops.arange(count)[None, :] < ops.arange(count)[:, None]
    return ops.any((pieces[..., :, None] == pieces[..., None, :]) & earlier, axis=-1)


def _rank_in_bank(totals: Tensor, missing: Tensor, possible: Tensor, banks: Tensor) -> Tensor:
    """How many candidates of the same bank are better, int32 [batch, candidates]; the earlier of equals is better.

    Counted from the best to the worst, so that memory grows with the candidates and not with their square.

    Args:
        banks: more than any of `missing`.
    """
    order = ops.argsort(-totals, axis=-1)
    of_bank = gather_within(missing, order)[:, :, None] == ops.arange(
        banks, dtype="int32"
    )  # [batch, candidates, banks]
    counted = ops.cast(of_bank & gather_within(possible, order)[:, :, None], "int32")
    before = ops.cumsum(counted, axis=1) - counted
    ranks = ops.sum(ops.where(of_bank, before, 0), axis=-1)
    return gather_within(ranks, ops.argsort(order, axis=-1))
