"""tf.data moves what batching.py planned: gather, pad and prefetch beside the training step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from nmt.batching import Batch, EncodedCorpus, GuidedBatch, Plan


def pass_batches(corpus: EncodedCorpus, plan: Plan, pass_index: int, skip: int) -> Iterator[Batch | GuidedBatch]:
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

    def gather(indices: Any) -> Any:
        arrays = tf.numpy_function(lambda rows: tuple(corpus.batch(rows, plan.width(rows))), [indices], types)
        return kind(*(tf.ensure_shape(array, [None] * rank) for array, rank in zip(arrays, ranks, strict=True)))

    planned = tf.data.Dataset.from_generator(
        lambda: plan.batches(pass_index), output_signature=tf.TensorSpec([None], tf.int64)
    )
    data = planned.skip(skip).map(gather, num_parallel_calls=1).prefetch(8)
    options = tf.data.Options()
    # A pool of its own: the training step has all of TensorFlow's own threads to itself.
    options.threading.private_threadpool_size = 1
    # There is nothing to tune, and a pass that ends waits for the tuner to wake up: it sleeps up to a minute.
    options.autotune.enabled = False
    yield from data.with_options(options)
