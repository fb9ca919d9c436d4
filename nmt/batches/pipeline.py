"""The batches of an epoch, gathered and padded in the background while the training step runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import keras
import numpy as np

from nmt.batches.arrays import Batch, GuidedBatch
from nmt.batches.background import in_background
from nmt.batches.plan import START, BatchPlan, Section
from nmt.batches.sharded_corpus import TrainingPairs

AHEAD = 8
"""Finished batches that wait for the training step at most."""


def pass_batches(
    corpus: TrainingPairs,
    plan: BatchPlan,
    pass_index: int,
    skip: int,
    begin: Section = START,
    share: Callable[[np.ndarray], np.ndarray] = lambda rows: rows,
) -> Iterator[Batch | GuidedBatch]:
    """The batches of one epoch behind the first `skip`, as tensors on TensorFlow and as arrays on other backends.

    tf.data makes them on TensorFlow, a thread on other backends.

    Args:
        begin: a section that begins before the batch `skip`; the sections before it are not planned again.
        share: takes the pairs of a batch, [rows], and returns the pairs that are read, in the width of the whole batch.
    """
    planned = islice(plan.batches(pass_index, begin), skip - begin.first_batch, None)
    made = (corpus.batch(share(rows), plan.width(rows)) for rows in planned)
    if keras.backend.backend() == "tensorflow":
        return _from_tf_data(made, corpus.links is not None)
    return in_background(made, AHEAD)


def _from_tf_data(made: Iterator[Batch | GuidedBatch], guided: bool) -> Iterator[Batch | GuidedBatch]:
    """The same batches by way of tf.data."""
    import tensorflow as tf

    kind: Any = GuidedBatch if guided else Batch
    types = [tf.float32 if field == "links" else tf.int32 for field in kind._fields]
    ranks = [3 if field == "links" else 2 for field in kind._fields]

    failed: list[Exception] = []

    def gathered(_: Any) -> tuple[Any, ...]:
        """Whether there is a next batch, and the batch."""
        try:
            batch = next(made, None)
        except Exception as error:  # TensorFlow would raise an error of its own, with this one in its text
            failed.append(error)
            batch = None
        if batch is None:
            return False, *(np.zeros([0] * rank, kind.as_numpy_dtype) for kind, rank in zip(types, ranks, strict=True))
        return True, *batch

    def gather(number: Any) -> Any:
        more, *arrays = tf.numpy_function(gathered, [number], [tf.bool, *types])
        batch = (tf.ensure_shape(array, [None] * rank) for array, rank in zip(arrays, ranks, strict=True))
        return tf.ensure_shape(more, []), kind(*batch)

    # from_generator would slow every training step by a fifth: creating one makes TensorFlow (2.21 with Python 3.11)
    # set the C library's allocator (mallopt) to fetch each block of 128 KiB or more from the system, for good.
    data = tf.data.Dataset.range(sys.maxsize).map(gather, num_parallel_calls=1)
    data = data.take_while(lambda more, _: more).map(lambda _, batch: batch).prefetch(AHEAD)
    options = tf.data.Options()
    # A thread pool of its own leaves TensorFlow's threads to the training step.
    options.threading.private_threadpool_size = 1
    # There is nothing to tune, and at the end of an epoch tf.data waits for the tuner, which sleeps up to a minute.
    options.autotune.enabled = False
    yield from data.with_options(options)
    if failed:
        raise failed[0]
