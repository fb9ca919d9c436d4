"""What the machine can do at best: matrix products and memory traffic."""

from __future__ import annotations

import os
import platform
import shlex
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

SIDE = 2048
"""Of the square matrices that are multiplied."""


def describe() -> dict[str, Any]:
    """Processor, memory, versions, the day, and the command line."""
    processor = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), processor)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except OSError:
        memory = 0.0
    packages = {name: version(name) for name in ("nmt", "keras", "tensorflow", "numpy", "sentencepiece")}
    return {
        "processor": processor,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(memory, 1),
        "python": platform.python_version(),
        "packages": packages,
        "date": time.strftime("%Y-%m-%d"),
        "command": shlex.join(["python", *sys.argv]),
    }


def ceilings(repeats: int) -> dict[str, float]:
    """GFLOP/s of a 2048-cube product in float32 and bfloat16, and GB/s of reading and writing large arrays."""
    from keras import ops, random

    from nmt.engine import compile_function

    found = {}
    for dtype in ("float32", "bfloat16"):
        left, right = (ops.cast(random.normal((SIDE, SIDE)), dtype) for _ in range(2))
        seconds = _median(compile_function(ops.matmul), (left, right), repeats)
        found[f"{dtype}_gflops"] = 2 * SIDE**3 / seconds / 1e9
    large = random.normal((2**26,))  # 256 MiB, far beyond the caches
    seconds = _median(compile_function(lambda values: values + 1.0), (large,), repeats)
    found["memory_gb_s"] = 2 * 4 * 2**26 / seconds / 1e9
    return found


def peak_memory(process: int) -> float:
    """Largest resident memory of a running process so far, in MiB (Linux).

    Not what `wait4` says of a process that has ended: that is at least as much as its parent had.
    """
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def _median(function: Callable[..., Any], arguments: tuple, repeats: int) -> float:
    """Seconds of a call, the result waited for."""
    import numpy as np

    seconds = []
    for _ in range(repeats + 1):  # the first compiles
        start = time.perf_counter()
        np.asarray(function(*arguments)[:1])
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])
