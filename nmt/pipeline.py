"""tf.data moves what batching.py planned: gather, pad and prefetch beside the training step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from nmt.batching import Batch, EncodedCorpus, Plan


def pass_batches(corpus: EncodedCorpus, plan: Plan, pass_index: int, skip: int) -> Iterator[Batch]:
    """The batches of one pass behind the first `skip`.

    On TensorFlow tf.data gathers and pads the next batches while a step runs; elsewhere they are made in line.
    """
    if keras.backend.backend() != "tensorflow":
        for number, indices in enumerate(plan.batches(pass_index)):
            if number >= skip:
                yield corpus.batch(indices, plan.width(indices))
        return
    import tensorflow as tf

    def gather(indices: Any) -> Any:
        arrays = tf.numpy_function(lambda rows: tuple(corpus.batch(rows, plan.width(rows))), [indices], [tf.int32] * 3)
        return Batch(*(tf.ensure_shape(array, [None, None]) for array in arrays))

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
