"""What a batch is searched for, as arrays, and what was found, as hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt import search
from nmt.batches.arrays import Sequences, pad, source_rows
from nmt.config import SearchConfig
from nmt.translation.short_list import Lists


class Hypothesis(NamedTuple):
    """A translation in pieces, or a given one that was scored."""

    ids: list[int]
    """Pieces, without end of sentence."""
    log_probability: float
    """Of all pieces, end of sentence included where it is there, in nats."""
    score: float
    """What the search ranked by: log-probability over length penalty, coverage penalty added."""
    weights: np.ndarray
    """Attention, float32 [pieces (and end of sentence), source pieces + end of sentence]."""
    finished: bool
    """Whether the end of sentence was reached."""
    piece_log_probabilities: np.ndarray
    """Of each piece (and end of sentence), float32 [pieces (and end of sentence)], in nats."""


class Demand(NamedTuple):
    """What the translation of a sentence must hold, in pieces."""

    prefix: Sequence[int] = ()
    """Its first pieces."""
    phrases: Sequence[Sequence[int]] = ()
    """Runs of pieces that appear somewhere, in any order, without overlap."""


NO_DEMAND = Demand()


class Kind(NamedTuple):
    """What a search is compiled for."""

    config: SearchConfig
    slots: int
    nbest: int
    demanding: bool
    suppressed: tuple[int, ...]
    single: bool
    """Whether for one hypothesis of one sentence alone, so that there are no rows to be told apart."""


class Question(NamedTuple):
    """The arrays of a batch that is searched for, int32 where nothing else is said."""

    source: Any
    """[batch, positions], end of sentence included."""
    limits: Any
    """Greatest length of each hypothesis, end of sentence included, [batch]."""
    steps: Any
    """[greatest limit, 0]: carries a length that is dynamic on TensorFlow, static on JAX."""
    least: Any
    """Least length, the end of sentence not counted, [batch]."""
    numbers: Any
    """Of each sentence's draw, uint32 [batch]."""
    prefix: Any
    """[batch, longest], PAD behind the end."""
    phrases: Any
    """[batch, phrases, longest], PAD behind the end."""
    lists: Lists
    """Of a search with short lists."""


def longest_translations(config: SearchConfig, lengths: ArrayLike) -> NDArray[np.float64]:
    """Pieces of the longest translations that are searched for, of sources of these lengths, constraints aside."""
    return np.ceil(config.max_length_ratio * np.asarray(lengths)) + 10


def make_question(
    packed: Sequences,
    rows: np.ndarray,
    config: SearchConfig,
    demands: Sequence[Demand],
    numbers: np.ndarray,
    lists: Lists,
) -> Question:
    lengths = packed.lengths[rows]
    needed = np.array([len(d.prefix) + sum(map(len, d.phrases)) for d in demands], np.int64)
    limits = (longest_translations(config, lengths) + needed).astype(np.int32)
    most = max(1, *(len(demand.phrases) for demand in demands))
    phrases = [phrase for demand in demands for phrase in [*demand.phrases, *[()] * (most - len(demand.phrases))]]
    return Question(
        source=source_rows(packed, rows),
        limits=limits,
        steps=np.empty((limits.max(), 0), np.int32),
        least=np.minimum(np.floor(config.min_length_ratio * lengths), limits - 1).astype(np.int32),
        numbers=(np.uint64(config.seed) * np.uint64(0x9E3779B1) + numbers.astype(np.uint64)).astype(np.uint32),
        prefix=_padded([demand.prefix for demand in demands]),
        phrases=_padded(phrases).reshape(len(demands), most, -1),
        lists=lists,
    )


def _padded(sequences: Sequence[Sequence[int]]) -> np.ndarray:
    """int32 [sequences, longest, at least 1], PAD behind the end of each."""
    packed = Sequences.of(sequences)
    return pad(packed.ids, packed.lengths, width=max(1, int(packed.lengths.max(initial=0))))


def make_hypothesis(found: search.SearchResult, row: int, slot: int, positions: int) -> Hypothesis:
    steps, finished = int(found.lengths[row, slot]), bool(found.finished[row, slot])
    return Hypothesis(
        ids=found.tokens[row, slot, : steps - finished].tolist(),
        log_probability=float(found.log_probabilities[row, slot]),
        score=float(found.scores[row, slot]),
        weights=found.records[row, slot, :steps, :positions].copy(),
        finished=finished,
        piece_log_probabilities=found.piece_log_probabilities[row, slot, :steps].copy(),
    )
