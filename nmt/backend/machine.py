"""The machine: its processors, how TensorFlow uses them, and the memory of this process."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

AT_ONCE = 4
"""The number of batches, or of parts of a batch, that are computed at once if there are processors for them."""

MEMORY = {"TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(2**20)}
"""Settings of TensorFlow's memory: it keeps the memory of its tensors, as on a GPU.

Otherwise it asks the C library for each tensor and gives the memory back. The limit is the memory of the system, since
the default limit is 64 GiB."""

PROGRAMS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": str(2**13)}
"""The number of programs that oneDNN keeps, instead of 1,024.

oneDNN multiplies for TensorFlow, and writes a program for each operation and each shape of its inputs. Training with
batches of many lengths uses more than 1,024 programs in turn, so a smaller cache would drop each before its next use.
"""


_sharing = 1
"""Number of processes like this one that share the processors."""


def processors() -> int:
    """The number of processors that this process may use, or its share after `share_processors`."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, found // _sharing)


def share_processors(processes: int) -> None:
    """Leaves this process an equal share of the processors. Call it before TensorFlow is imported.

    Args:
        processes: number of processes at work, this one included.
    """
    global _sharing
    _sharing = processes
    os.environ.setdefault("TF_NUM_INTEROP_THREADS", str(processors()))


def configure_runtime() -> None:
    """Configures threads, memory and programs of TensorFlow on a machine without a GPU.

    Each operation gets a share of the processors, so that several batches can run at once (see `batches_at_once`).
    A model has many small operations, and a second thread speeds up a small operation only a little.

    Call it before anything is computed: later calls have no effect. It also has no effect on another backend or beside
    a GPU. Values in the environment win: TF_NUM_INTRAOP_THREADS and the variables of `MEMORY` and `PROGRAMS`.
    """
    if not _tensorflow_without_gpu():
        return
    import tensorflow as tf

    for name, value in (MEMORY | PROGRAMS).items():
        os.environ.setdefault(name, value)
    if not os.environ.get("TF_NUM_INTRAOP_THREADS"):
        with contextlib.suppress(RuntimeError):  # TensorFlow has begun to compute
            tf.config.threading.set_intra_op_parallelism_threads(-(-processors() // AT_ONCE))


def batches_at_once() -> int:
    """The number of batches that can run at once; 1 if each operation uses all processors."""
    if not _tensorflow_without_gpu():
        return 1
    import tensorflow as tf

    threads = tf.config.threading.get_intra_op_parallelism_threads()  # per operation; 0 for all
    return max(1, processors() // threads) if threads else 1


def _tensorflow_without_gpu() -> bool:
    import keras

    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return not tf.config.list_physical_devices("GPU")


def peak_memory() -> int:
    """The largest resident memory of this process in MiB; 0 if the system does not report it."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024  # bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit >> 20


def free_memory() -> int:
    """Bytes that this process can still take: free memory of the machine, within the process's address space."""
    found = [_reported(Path("/proc/meminfo"), "MemAvailable:")]
    with contextlib.suppress(ImportError, OSError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            found.append(limit - (_reported(Path("/proc/self/status"), "VmSize:") or 0))
    return min((bytes_ for bytes_ in found if bytes_ is not None), default=sys.maxsize)


def require_memory(size: int) -> None:
    """Refuses a computation that needs more memory than there is: libraries in C++ would end the process.

    Args:
        size: bytes that the computation needs at least.

    Raises:
        MemoryError: with the sizes in MiB.
    """
    if size > 2**28 and size > (free := free_memory()):
        raise MemoryError(f"{size >> 20} MiB are needed, and {free >> 20} MiB are free")


def _reported(path: Path, name: str) -> int | None:
    """The bytes that a line of a file of the Linux kernel reports; None if there is no such line."""
    with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return None
