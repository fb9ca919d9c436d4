"""Batches computed side by side, each by a share of the processors."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from nmt.backend.machine import batches_at_once

FEW_ROWS = 8
"""Up to this many rows, a step takes as long as reading the weights takes."""

_thread = threading.local()


@contextmanager
def one_batch_at_once() -> Iterator[None]:
    """Within it, this thread computes one batch after the other: other threads use the other processors."""
    _thread.alone = True
    try:
        yield
    finally:
        _thread.alone = False


def has_all_processors() -> bool:
    """Whether this thread computes the only batch, so that an operation may use all processors."""
    return getattr(_thread, "only", False)


def _at_once(given: int) -> int:
    """The number of batches that this thread computes at once; see `compute_side_by_side`."""
    return 1 if getattr(_thread, "alone", False) else given or batches_at_once()


def compute_side_by_side(
    compute: Callable[[np.ndarray], None], batches: Iterable[np.ndarray], at_once: int = 0
) -> None:
    """Computes batches in the order given, several at once.

    Args:
        at_once: their number; 0: as many as the processors allow beside the threads of the Keras backend.

    Raises:
        Exception: the first error of a batch; batches that have not begun by then are dropped.
    """
    at_once, batches = _at_once(at_once), list(batches)
    if at_once == 1 or len(batches) == 1:
        _thread.only = at_once > 1
        try:
            for rows in batches:
                compute(rows)
        finally:
            _thread.only = False
        return
    with ThreadPoolExecutor(at_once) as threads:
        collections.deque(threads.map(compute, batches), maxlen=0)  # taking the results raises a batch's error


def token_budget(lengths: np.ndarray, slots: int, batch_tokens: int, at_once: int = 0) -> int:
    """The budget of a batch, sentences times the longest source, that gives each processor a batch of its own.

    Few sentences stay in one batch, because small batches waste the reading of the weights.

    Args:
        lengths: pieces of the sources.
        slots: hypotheses of a sentence.
        batch_tokens: upper limit, sentences times slots times the longest source.
        at_once: see `compute_side_by_side`.
    """
    each = -(-len(lengths) // _at_once(at_once))
    if each * slots <= FEW_ROWS:
        each = len(lengths)
    return min(batch_tokens // slots, each * int(lengths.max(initial=0)))
