"""The machine: its description, its GPU, and its ceilings in matrix products and memory traffic."""

from __future__ import annotations

import os
import platform
import shlex
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.benchmarking.layouts import find

SIDE, GPU_SIDE = 2048, 8192
"""Side of the square matrices that are multiplied. On a GPU a small product takes less time than its start."""


def describe() -> dict[str, Any]:
    """Processor, memory, versions of the packages, the date, and the command line."""
    processor = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), processor)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except OSError:
        memory = 0.0
    backend = os.environ.get("KERAS_BACKEND") or "tensorflow"
    packages = {name: _version(name) for name in ("nmt", "keras", backend, "numpy", "sentencepiece")}
    return {
        "processor": processor,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(memory, 1),
        "python": platform.python_version(),
        "packages": packages,
        "date": time.strftime("%Y-%m-%d"),
        "command": shlex.join(["python", *sys.argv]),
    }


def _version(package: str) -> str:
    """The version of an installed package, or of one that only lies on the path."""
    try:
        return version(package)
    except PackageNotFoundError:
        return getattr(import_module(package), "__version__", "of the path")


def gpu() -> str:
    """The name of the GPU that computes; empty without one."""
    import keras

    if keras.backend.backend() == "jax":
        import jax

        device = jax.devices()[0]
        return device.device_kind if device.platform == "gpu" else ""
    import tensorflow as tf

    found = tf.config.list_physical_devices("GPU")
    return tf.config.experimental.get_device_details(found[0]).get("device_name", "GPU") if found else ""


def memory_of_training() -> int:
    """Peak memory in MiB: of the GPU where one computes, else of this process."""
    import keras

    if not gpu():
        return find("peak_memory")()
    if keras.backend.backend() == "jax":
        import jax

        return jax.devices()[0].memory_stats()["peak_bytes_in_use"] >> 20
    import tensorflow as tf

    return tf.config.experimental.get_memory_info("GPU:0")["peak"] >> 20


def ceilings(repeats: int) -> dict[str, Any]:
    """The GPU's name, GFLOP/s of a square product in each type, and GB/s of reading and writing a large array."""
    from keras import ops, random

    from nmt.backend.compiling import compile_function

    found: dict[str, Any] = {"gpu": gpu()}
    found["side"] = side = GPU_SIDE if found["gpu"] else SIDE
    calls = 20 if found["gpu"] else 1  # a GPU queues its calls
    for dtype in ("float32", "bfloat16", *(["float16"] if found["gpu"] else [])):
        left, right = (ops.cast(random.normal((side, side)), dtype) for _ in range(2))
        seconds = _median(compile_function(ops.matmul), (left, right), repeats, calls)
        found[f"{dtype}_gflops"] = 2 * side**3 / seconds / 1e9
    large = random.normal((2**26,))  # 256 MiB, far beyond the caches
    seconds = _median(compile_function(lambda values: values + 1.0), (large,), repeats, calls)
    found["memory_gb_s"] = 2 * 4 * 2**26 / seconds / 1e9
    return found


def peak_memory(process: int) -> float:
    """Peak resident memory of a running process in MiB (Linux).

    `wait4` would report the peak of an ended process too, but counts the memory of the parent before the fork.
    """
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def _median(function: Callable[..., Any], arguments: tuple, repeats: int, calls: int) -> float:
    """Median seconds per call. Each repeat makes `calls` calls and waits for the last result."""
    import numpy as np

    seconds = []
    for _ in range(repeats + 1):  # the first compiles
        start = time.perf_counter()
        for _ in range(calls):
            result = function(*arguments)
        np.asarray(result[:1])
        seconds.append((time.perf_counter() - start) / calls)
    return statistics.median(seconds[1:])
