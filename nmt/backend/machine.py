"""How many processors there are, who has them, and the process's memory."""

from __future__ import annotations

import contextlib
import os
import sys

import keras

AT_ONCE = 4
"""Batches, or parts of a batch, that are computed at once, if there are processors for them."""


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


MEMORY = {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(2**20)}
"""What has TensorFlow keep the memory of its tensors itself, as it does on a GPU, instead of asking the C library for
each one and giving it back; as much as the system has, for it would stop at 64 GiB."""

PROGRAMS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": str(2**13)}
"""How many programs oneDNN keeps, which multiplies for TensorFlow: it writes one for each operation and each shape of
what goes in. Of the 1,024 that it would keep, training with batches of many lengths finds hardly one again."""


def configure_runtime() -> None:
    """Shares out TensorFlow's threads, and has it keep its memory and its programs, where processors alone compute.

    An operation gets a share of the processors, so that several batches can be at once (see `batches_at_once`): of a
    model's many small operations, two threads on one make little more than one.

    To be called before anything is computed. Later it is without effect, and so it is where it is not TensorFlow that
    computes, or not on processors alone, or the user has set TF_NUM_INTRAOP_THREADS, or variables of `MEMORY` and
    `PROGRAMS`.
    """
    if not _tensorflow_without_gpu():
        return
    import tensorflow as tf

    for name, value in (MEMORY | PROGRAMS).items():
        os.environ.setdefault(name, value)
    if not os.environ.get("TF_NUM_INTRAOP_THREADS"):
        with contextlib.suppress(RuntimeError):  # it has begun to compute
            tf.config.threading.set_intra_op_parallelism_threads(-(-processors() // AT_ONCE))


def batches_at_once() -> int:
    """How many batches can be computed side by side; 1 where operations have not been given a share each."""
    if not _tensorflow_without_gpu():
        return 1
    import tensorflow as tf

    threads = tf.config.threading.get_intra_op_parallelism_threads()  # of an operation; 0: all
    return max(1, processors() // threads) if threads else 1


def _tensorflow_without_gpu() -> bool:
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return not tf.config.list_physical_devices("GPU")


def peak_memory() -> int:
    """Largest resident memory of this process so far in MiB; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024  # bytes that it is told in
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit >> 20
