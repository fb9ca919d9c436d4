"""A batch of sentence pairs, as the aligner reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.aligning.cooccurrence import Cooccurrence
from nmt.batches.arrays import Sequences, pad
from nmt.batches.plan import cut_by_tokens
from nmt.text.pieces import PAD


class PairBatch(NamedTuple):
    """Pairs, right-padded with PAD."""

    source: NDArray[np.int32]
    """[sentences, source words]: ids."""
    target: NDArray[np.int32]
    """[sentences, target words]: ids."""
    cells: NDArray[np.int64]
    """[sentences, target words, source words]: the number of each pair of words, see `Cooccurrence.places`."""

    def reversed(self) -> PairBatch:
        """The same pairs with the sides exchanged."""
        return PairBatch(self.target, self.source, self.cells.transpose(0, 2, 1))


def make_pair_batch(
    source: Sequences, target: Sequences, rows: NDArray[np.int64], cooccurrence: Cooccurrence
) -> PairBatch:
    """The batch of the pairs with these indices."""
    one, two = (pad(*side.gather(rows)) for side in (source, target))
    return PairBatch(one, two, cooccurrence.places(one, two))


def planned_batches(source: Sequences, target: Sequences, tokens: int, window: int) -> Iterator[NDArray[np.int64]]:
    """The indices of the pairs of each batch: pairs of similar lengths, window by window, each pair once."""
    lengths = source.lengths, target.lengths
    for begin in range(0, len(source), window):
        rows = np.arange(begin, min(begin + window, len(source)))
        yield from similar_batches(*lengths, rows, tokens)


def similar_batches(
    source_lengths: NDArray[np.int64], target_lengths: NDArray[np.int64], rows: NDArray[np.int64], tokens: int
) -> Sequence[NDArray[np.int64]]:
    """Batches of pairs whose sides have similar lengths, longest first."""
    longest = np.maximum(source_lengths, target_lengths)
    order = rows[np.lexsort((source_lengths[rows], target_lengths[rows], longest[rows]))[::-1]]
    return cut_by_tokens(longest, order, tokens)


def is_word(ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Where a batch has words, and no padding."""
    return ids != PAD
