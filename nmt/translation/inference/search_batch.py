"""The arrays of a batch that is searched, and the hypotheses in the arrays that a search returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.batches.arrays import Sequences, pad, source_rows
from nmt.config import SearchConfig
from nmt.translation.inference.protocol import Hypothesis, PieceConstraint
from nmt.translation.short_list import BatchLists

if TYPE_CHECKING:
    from nmt import search


class SearchBatch(NamedTuple):
    """The arrays of a batch that is searched, int32 unless stated otherwise."""

    source: Any
    """[batch, positions], end of sentence included."""
    limits: Any
    """[batch]: greatest length of each hypothesis, end of sentence included."""
    steps: Any
    """[greatest limit, 0]: its first dimension is the number of steps, dynamic on TensorFlow and static on JAX."""
    least: Any
    """[batch]: least length, end of sentence excluded."""
    seeds: Any
    """uint32 [batch]: seeds of the samples."""
    prefix: Any
    """[batch, longest prefix], padded at the end."""
    phrases: Any
    """[batch, phrases, longest phrase], padded at the end."""
    lists: BatchLists
    """The short lists; empty for a search without short lists."""


def longest_translations(search: SearchConfig, lengths: ArrayLike) -> NDArray[np.float64]:
    """Pieces of the longest translations of sources with these lengths, before constraints lengthen them."""
    return np.ceil(search.max_length_ratio * np.asarray(lengths)) + 10


def make_search_batch(
    packed: Sequences,
    rows: np.ndarray,
    search: SearchConfig,
    constraints: Sequence[PieceConstraint],
    sentence_ids: np.ndarray,
    lists: BatchLists,
) -> SearchBatch:
    """The batch of some sentences.

    Args:
        packed: pieces of all sentences.
        rows: indices of the batch's sentences.
        constraints, sentence_ids, lists: for the batch's sentences.
    """
    lengths = packed.lengths[rows]
    constrained = np.array([len(c.prefix) + sum(map(len, c.phrases)) for c in constraints], np.int64)
    limits = (longest_translations(search, lengths) + constrained).astype(np.int32)
    most = max(1, *(len(constraint.phrases) for constraint in constraints))
    phrases = [phrase for c in constraints for phrase in [*c.phrases, *[()] * (most - len(c.phrases))]]
    return SearchBatch(
        source=source_rows(packed, rows),
        limits=limits,
        steps=np.empty((limits.max(), 0), np.int32),
        least=np.minimum(np.floor(search.min_length_ratio * lengths), limits - 1).astype(np.int32),
        seeds=(np.uint64(search.seed) * np.uint64(0x9E3779B1) + sentence_ids.astype(np.uint64)).astype(np.uint32),
        prefix=_padded([constraint.prefix for constraint in constraints]),
        phrases=_padded(phrases).reshape(len(constraints), most, -1),
        lists=lists,
    )


def _padded(sequences: Sequence[Sequence[int]]) -> np.ndarray:
    """int32 [sequences, longest, at least 1], padded at the end."""
    packed = Sequences.of(sequences)
    return pad(packed.ids, packed.lengths, width=max(1, int(packed.lengths.max(initial=0))))


def make_hypothesis(found: search.SearchResult, row: int, slot: int, positions: int) -> Hypothesis:
    """The hypothesis in one slot of a sentence.

    Args:
        found: the search's results as NumPy arrays.
        row, slot: where the hypothesis stands.
        positions: source pieces of the sentence, end of sentence included.
    """
    steps, finished = int(found.lengths[row, slot]), bool(found.finished[row, slot])
    return Hypothesis(
        ids=found.tokens[row, slot, : steps - finished].tolist(),
        log_probability=float(found.log_probabilities[row, slot]),
        score=float(found.scores[row, slot]),
        weights=found.records[row, slot, :steps, :positions].copy(),
        finished=finished,
        piece_log_probabilities=found.piece_log_probabilities[row, slot, :steps].copy(),
    )
