"""The arrays of a batch of sentence pairs, as the aligner reads them. NumPy only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmt.batches.arrays import Sequences, pad


class Side(NamedTuple):
    """One side of a batch."""

    ids: np.ndarray
    """int32 [sentences, words], right-padded with PAD."""
    types: np.ndarray
    """int32 [types]: the different ids of the batch, ascending. Their translations are computed once."""
    type_of_word: np.ndarray
    """int32 [sentences, words]: the position of each id in `types`."""


class PairBatch(NamedTuple):
    """Both sides of a batch."""

    source: Side
    target: Side


def side_of(ids: np.ndarray) -> Side:
    """The arrays of padded ids, [sentences, words]."""
    types, places = np.unique(ids, return_inverse=True)
    return Side(ids, types.astype(np.int32), places.reshape(ids.shape).astype(np.int32))


def make_pair_batch(source: Sequences, target: Sequences, indices: np.ndarray) -> PairBatch:
    """The batch of the pairs with these indices."""
    return PairBatch(*(side_of(pad(*side.gather(indices))) for side in (source, target)))
