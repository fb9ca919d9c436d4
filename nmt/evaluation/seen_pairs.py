"""How many pairs of a test set a model was trained on: their score says little about new text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nmt.batches.arrays import Sequences
from nmt.run.directory import Run
from nmt.run.training_pairs import has_training_pairs, sides_of, training_pairs

_BLOCK = 50_000
"""Sentences whose ids are in memory together."""
_LONGEST = 2**14
"""Places of a sentence with factors of their own."""

_FACTORS = np.random.default_rng(0).integers(2**64, size=_LONGEST, dtype=np.uint64) | np.uint64(1)
"""A factor for each place of a sentence: sums of products tell sentences with equal pieces in another order apart."""


def count_seen_pairs(run: Run, sources: Sequence[str], targets: Sequence[str]) -> int:
    """The number of pairs that are among the training pairs of a run, compared as pieces.

    Of a prepared corpus, a sample of pairs is read. A run that keeps no training pairs gives 0.

    Args:
        run: a trained run.
        sources, targets: the pairs.

    Raises:
        NmtError: the training pairs are damaged.
    """
    if not has_training_pairs(run.directory, run.config):
        return 0
    trained = sides_of(training_pairs(run.directory, run.config))
    asked = Sequences.of(run.source.encode(list(sources))), Sequences.of(run.target.encode(list(targets)))
    return int(np.isin(_keys(*asked), _keys(*trained)).sum())


def _keys(source: Sequences, target: Sequences) -> NDArray[np.uint64]:
    """A number for each pair; different pairs have equal numbers with a probability near 2**-64."""
    return np.concatenate(list(_of_blocks(source))) * np.uint64(3) + np.concatenate(list(_of_blocks(target)))


def _of_blocks(sequences: Sequences) -> Iterator[NDArray[np.uint64]]:
    yield np.zeros(0, np.uint64)
    for begin in range(0, len(sequences), _BLOCK):
        ids, lengths = sequences.gather(np.arange(begin, min(begin + _BLOCK, len(sequences))))
        ends = np.cumsum(lengths)
        places = np.arange(len(ids)) - np.repeat(ends - lengths, lengths)
        products = (ids.astype(np.uint64) + np.uint64(1)) * _FACTORS[places % _LONGEST]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(products, dtype=np.uint64)])
        yield sums[ends] - sums[ends - lengths]
