"""Seconds and memory of a mechanism's passes."""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from costs.formulas import Case, Sizes
from costs.mechanisms import MECHANISMS

PASSES = ("forward", "forward and backward")
AT_LEAST = 0.01
"""Seconds that one timing takes: what is quicker is called several times."""


def compiled(name: str, width: int, sizes: Sizes, backward: bool) -> Callable[[Any], Any]:
    """A pass as one compiled program for sequences of every length, float32 [1, n, width].

    Backward: also the gradient of half the sum of squares of the outputs, by the inputs and all weights.
    """
    mechanism = MECHANISMS[name](width, sizes)

    def forward(values: Any) -> Any:
        return mechanism.call(values)

    def both(values: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(values)
            loss = tf.reduce_sum(mechanism.call(values) ** 2) / 2
        return tape.gradient(loss, [values, *(getattr(weight, "value", weight) for weight in mechanism.weights)])

    signature = [tf.TensorSpec((1, None, width), tf.float32)]
    program = tf.function(both if backward else forward, input_signature=signature, autograph=False)
    concrete = program.get_concrete_function()
    return lambda values, kept=mechanism: concrete(values)  # a program does not keep its weights


def sequence(case: Case) -> Any:
    """Normal numbers, float32 [1, n, d]."""
    draw = np.random.default_rng(1)
    return tf.constant(draw.normal(size=(1, *case)).astype(np.float32))


def calls_needed(call: Callable[[], Any]) -> int:
    """How many calls take `AT_LEAST` seconds; the first call is not timed, what it prepares is not what is measured."""
    call()
    return max(1, round(AT_LEAST / _seconds(call, 1)))


def _seconds(call: Callable[[], Any], times: int) -> float:
    """Seconds of one of so many calls."""
    begin = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - begin) / times


def measure_times(
    jobs: Sequence[tuple[str, str, Case]], sizes: Sizes, repeats: int, say: Callable[[str], None]
) -> list[list[float]]:
    """Seconds of a call of every job (mechanism, pass, case), a list of the repeats for each.

    All jobs take turns, so that what else goes on on the machine falls on all alike.
    """
    programs: dict[tuple[str, str, int], Callable[[Any], Any]] = {}
    calls = []
    for name, which, case in jobs:
        key = name, which, case.width
        if key not in programs:
            programs[key] = compiled(name, case.width, sizes, which == PASSES[1])
        values, program = sequence(case), programs[key]
        call = lambda program=program, values=values: program(values)  # noqa: E731
        calls.append((call, calls_needed(call)))
    say(f"{len(jobs)} cases compiled")
    found: list[list[float]] = [[] for _ in jobs]
    for repeat in range(repeats):
        for seconds, (call, times) in zip(found, calls, strict=True):
            seconds.append(_seconds(call, times))
        say(f"repeat {repeat + 1} of {repeats}")
    return found


def measure_memory(jobs: Sequence[tuple[str, str, Case]], sizes: Sizes) -> list[float]:
    """MiB that this process grows by, at most, during a call of every job; inputs and weights are there before.

    What is compiled is compiled on a short sequence first. The process has to give memory back as soon as it is free,
    see `SETTINGS`, and nothing else may run in it.
    """
    found = []
    for name, which, case in jobs:
        program = compiled(name, case.width, sizes, which == PASSES[1])
        program(sequence(Case(4, case.width)))
        values = sequence(case)
        found.append(growth(lambda program=program, values=values: program(values)))
    return found


PAGE = 4096 / 2**20
"""MiB below which nothing can be seen."""
SETTINGS = {"MALLOC_MMAP_THRESHOLD_": "65536"}
"""Environment of a process that measures memory (glibc): tensors of 64 KiB and more go back to the system when they
are free, so the next case does not find their memory waiting for it."""


def growth(call: Callable[[], Any]) -> float:
    """MiB of resident memory at the peak of a call, less what there was before it (Linux)."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew from what there is now
    before = _resident("VmRSS")
    call()
    return max(_resident("VmHWM") - before, PAGE)


def _resident(field: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024
