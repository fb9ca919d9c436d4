"""The validation loss of the frequencies of the target pieces: a model that has learned something is below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from nmt.batches.arrays import Sequences
from nmt.text.pieces import EOS

CHUNK = 2**20
"""Ids that are counted together."""


def count_pieces(sequences: Sequences, size: int) -> np.ndarray:
    """How often each piece occurs in sentences, int64 [size]; the sentences are read in chunks."""
    counts = np.zeros(size, np.int64)
    for start in range(0, len(sequences.ids), CHUNK):
        counts += np.bincount(sequences.ids[start : start + CHUNK], minlength=size)
    return counts


def unigram_loss(pieces: np.ndarray, sentences: int, validation: Iterable[Sequence[int]]) -> float:
    """Cross-entropy in nats per target piece, ends of sentences included, under the pieces' training frequencies.

    Each piece is counted once more than it occurs, so that no probability is 0 (Laplace).

    Args:
        pieces: how often each piece occurs in the training targets, [pieces of the target vocabulary].
        sentences: training targets.
        validation: ids of each validation target.
    """
    counts = 1.0 + pieces
    counts[EOS] += sentences
    losses = -np.log(counts / counts.sum())
    targets = np.concatenate([np.array([*ids, EOS]) for ids in validation])
    return float(losses[targets].mean())
