"""tf.data moves what batching.py planned: gather, pad and prefetch beside the training step."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import keras
import numpy as np

from nmt.batches.arrays import Batch, GuidedBatch
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.plan import BatchPlan


def pass_batches(corpus: EncodedCorpus, plan: BatchPlan, pass_index: int, skip: int) -> Iterator[Batch | GuidedBatch]:
    """The batches of one pass behind the first `skip`.

    On TensorFlow tf.data gathers and pads the next batches while a step runs; elsewhere they are made in line.
    """
    if keras.backend.backend() != "tensorflow":
        for number, indices in enumerate(plan.batches(pass_index)):
            if number >= skip:
                yield corpus.batch(indices, plan.width(indices))
        return
    import tensorflow as tf

    kind: Any = Batch if corpus.links is None else GuidedBatch
    types = [tf.float32 if field == "links" else tf.int32 for field in kind._fields]
    ranks = [3 if field == "links" else 2 for field in kind._fields]
    planned = islice(plan.batches(pass_index), skip, None)

    def gathered(_: Any) -> tuple[Any, ...]:
        """Whether there is a next batch, and the batch."""
        if (rows := next(planned, None)) is None:
            return False, *(np.zeros([0] * rank, kind.as_numpy_dtype) for kind, rank in zip(types, ranks, strict=True))
        return True, *corpus.batch(rows, plan.width(rows))

    def gather(number: Any) -> Any:
        more, *arrays = tf.numpy_function(gathered, [number], [tf.bool, *types])
        batch = (tf.ensure_shape(array, [None] * rank) for array, rank in zip(arrays, ranks, strict=True))
        return tf.ensure_shape(more, []), kind(*batch)

    # Not from_generator: where one is made, TensorFlow (2.21 with Python 3.11) tells the C library to get every block
    # of 128 KiB or more from the system anew (mallopt), for good; that took a fifth of a training step.
    data = tf.data.Dataset.range(sys.maxsize).map(gather, num_parallel_calls=1)
    data = data.take_while(lambda more, _: more).map(lambda _, batch: batch).prefetch(8)
    options = tf.data.Options()
    # A pool of its own: the training step has all of TensorFlow's own threads to itself.
    options.threading.private_threadpool_size = 1
    # There is nothing to tune, and a pass that ends waits for the tuner to wake up: it sleeps up to a minute.
    options.autotune.enabled = False
    yield from data.with_options(options)
