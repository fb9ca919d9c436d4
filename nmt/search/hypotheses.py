"""Hypotheses as tensors: the beam while the search runs, and the result of the search."""

from __future__ import annotations

from typing import NamedTuple

from nmt.backend import Tensor, ops
from nmt.backend.gather_scatter import gather_within
from nmt.search.distribution import State


class Beam(NamedTuple):
    """The hypotheses of a batch of sentences during the search. Live hypotheses fill the first slots of a sentence,
    finished ones the last."""

    time: Tensor
    """Number of completed steps, int32 scalar."""
    tokens: Tensor
    """Pieces of each hypothesis, int32 [batch, slots, longest]; PAD after the end."""
    piece_log_probabilities: Tensor
    """Log-probability of each piece, float32 [batch, slots, longest]; 0 after the end."""
    records: Tensor
    """Records of the step function, float32 [batch, slots, longest, width]."""
    log_probabilities: Tensor
    """Sum of the pieces' log-probabilities, float32 [batch, slots]."""
    finished: Tensor
    """Whether the hypothesis has ended, bool [batch, slots]. A finished hypothesis keeps its slot and its
    log-probability."""
    lengths: Tensor
    """Number of pieces, end of sentence included, int32 [batch, slots]."""
    restriction_states: State
    """State of each restriction for each hypothesis, leading axes [batch, slots]; () without restrictions."""
    state: State
    """Last state of the step function, one row per hypothesis that it extended."""
    state_rows: Tensor
    """Row of `state` that each hypothesis continues from, int32 [batch * slots]."""


class SearchResult(NamedTuple):
    """The hypotheses of each sentence, best first."""

    tokens: Tensor
    """int32 [batch, slots, longest]: pieces, end of sentence if the hypothesis has finished, then PAD."""
    piece_log_probabilities: Tensor
    """float32 [batch, slots, longest], in nats."""
    records: Tensor
    """Records of the step function, float32 [batch, slots, longest, width]."""
    log_probabilities: Tensor
    """float32 [batch, slots], in nats; IMPOSSIBLE for a slot without a hypothesis."""
    scores: Tensor
    """Scores that the hypotheses are sorted by, float32 [batch, slots]; see `length_and_coverage_penalty.Scoring`."""
    finished: Tensor
    """True where the hypothesis ended by itself, false where it was cut at the length limit, bool [batch, slots]."""
    lengths: Tensor
    """Number of pieces, end of sentence included, int32 [batch, slots]."""


def repeat_rows(structure: State, times: int) -> State:
    """Repeats each row of each tensor `times` times: [batch, ...] -> [batch * times, ...]."""
    if times == 1:
        return structure
    return ops.map_structure(lambda values: ops.repeat(values, times, axis=0), structure)


def take_slots(values: Tensor, slots: Tensor) -> Tensor:
    """Picks slots of each sentence: values [batch, slots, ...], slots [batch, chosen] -> [batch, chosen, ...]."""
    if values.shape[1] == slots.shape[1] == 1:
        return values
    return gather_within(values, slots)
