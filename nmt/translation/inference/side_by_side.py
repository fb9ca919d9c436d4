"""Batches computed side by side, each by a share of the processors."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from nmt.backend.machine import batches_at_once

FEW_ROWS = 8
"""Up to this many rows, a step takes as long as reading the weights takes."""


def compute_side_by_side(compute: Callable[[np.ndarray], None], batches: Iterable[np.ndarray]) -> None:
    """Computes batches in the order given, as many at once as the processors allow.

    Raises:
        Exception: the first error of a batch; batches that have not begun by then are dropped.
    """
    if batches_at_once() == 1:
        for rows in batches:
            compute(rows)
        return
    with ThreadPoolExecutor(batches_at_once()) as threads:
        collections.deque(threads.map(compute, batches), maxlen=0)  # taking the results raises a batch's error


def token_budget(lengths: np.ndarray, slots: int, batch_tokens: int) -> int:
    """The budget of a batch, sentences times the longest source, that gives each processor a batch of its own.

    Few sentences stay in one batch, because small batches waste the reading of the weights.

    Args:
        lengths: pieces of the sources.
        slots: hypotheses of a sentence.
        batch_tokens: upper limit, sentences times slots times the longest source.
    """
    each = -(-len(lengths) // batches_at_once())
    if each * slots <= FEW_ROWS:
        each = len(lengths)
    return min(batch_tokens // slots, each * int(lengths.max(initial=0)))
