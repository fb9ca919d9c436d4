"""Processor time and memory of the passes of a mechanism."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from studies.costs.formulas import PASSES, Case, Sizes
from studies.costs.mechanisms import MECHANISMS

SHORTEST_TIMING = 0.02
"""Seconds of the shortest timing; a faster call is repeated within one timing."""


def compiled(name: str, width: int, sizes: Sizes, backward: bool) -> Callable[[Any], Any]:
    """A pass as one compiled program for sequences of every length, float32 [1, n, width].

    With `backward` it also computes the gradient of half the squared outputs, by the inputs and all weights.
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
    return lambda values, kept=mechanism: concrete(values)  # the program itself does not keep the weights alive


def sequence(case: Case) -> Any:
    """Normal numbers, float32 [1, n, d]."""
    draw = np.random.default_rng(1)
    return tf.constant(draw.normal(size=(1, *case)).astype(np.float32))


def calls_needed(call: Callable[[], Any]) -> int:
    """The number of calls that take `SHORTEST_TIMING` seconds; an untimed call before them does the preparations."""
    call()
    return max(1, round(SHORTEST_TIMING / max(_seconds(call, 1), 1e-4)))


def _seconds(call: Callable[[], Any], times: int) -> float:
    """Processor seconds per call of this process; the time of other processes does not count."""
    begin = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - begin) / times


def measure_times(
    jobs: Sequence[tuple[str, str, Case]], sizes: Sizes, repeats: int, report_progress: Callable[[str], None]
) -> list[list[float]]:
    """Processor seconds per call of every job (mechanism, pass, case), a list of repeats for each.

    The jobs alternate, because other work on the machine competes for caches and memory; so it slows all jobs alike.
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
    report_progress(f"{len(jobs)} cases compiled")
    found: list[list[float]] = [[] for _ in jobs]
    for repeat in range(repeats):
        for seconds, (call, times) in zip(found, calls, strict=True):
            seconds.append(_seconds(call, times))
        report_progress(f"repeat {repeat + 1} of {repeats}")
    return found


def measure_memory(jobs: Sequence[tuple[str, str, Case]], sizes: Sizes) -> list[float]:
    """MiB of tensors at the peak of a call of every job, without inputs and weights.

    The process must have been started with the environment `SETTINGS`.
    """
    programs: dict[tuple[str, str, int], Callable[[Any], Any]] = {}
    found = []
    for name, which, case in jobs:
        key = name, which, case.width
        if key not in programs:
            programs[key] = compiled(name, case.width, sizes, which == PASSES[1])
        program, values = programs[key], sequence(case)
        program(values)  # the first call does preparations
        found.append(growth(lambda program=program, values=values: program(values)))
    return found


SETTINGS = {"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_ENABLE_ONEDNN_OPTS": "1"}
"""Environment in which TensorFlow counts all tensors on the processor. The default is those of 256 KiB or more, and
none on processors for which TensorFlow leaves oneDNN off."""


def growth(call: Callable[[], Any]) -> float:
    """MiB of tensors at the peak of a call, above the MiB before it, as TensorFlow's allocator counts them.

    Resident memory would mislead: the allocator keeps freed memory, so only the first large case would show. Memory
    that kernels take without the allocator is not counted.
    """
    tf.config.experimental.reset_memory_stats(DEVICE)
    before = tf.config.experimental.get_memory_info(DEVICE)["current"]
    call()
    return max(tf.config.experimental.get_memory_info(DEVICE)["peak"] - before, SMALLEST) / 2**20


DEVICE = "CPU:0"
SMALLEST = 256
"""Bytes of the allocator's smallest block."""
