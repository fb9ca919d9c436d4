"""The validation loss of the frequencies of the target pieces: a model that has learned something is below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from nmt.batches.arrays import Sequences
from nmt.text.pieces import EOS

CHUNK = 2**20
"""Ids that are counted together."""


def unigram_loss(training: Sequences, validation: Iterable[Sequence[int]], size: int) -> float:
    """Cross-entropy in nats per target piece, ends of sentences included, under the pieces' training frequencies.

    Each piece is counted once more than it occurs, so that no probability is 0 (Laplace).

    Args:
        training: ids of the training targets.
        validation: ids of each validation target.
        size: pieces of the target vocabulary.
    """
    counts = np.ones(size)
    for start in range(0, len(training.ids), CHUNK):
        counts += np.bincount(training.ids[start : start + CHUNK], minlength=size)
    counts[EOS] += len(training)
    losses = -np.log(counts / counts.sum())
    targets = np.concatenate([np.array([*ids, EOS]) for ids in validation])
    return float(losses[targets].mean())
