"""Processor time and memory of a mechanism's passes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from studies.costs.formulas import PASSES, Case, Sizes
from studies.costs.mechanisms import MECHANISMS

AT_LEAST = 0.02
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
    return max(1, round(AT_LEAST / max(_seconds(call, 1), 1e-4)))


def _seconds(call: Callable[[], Any], times: int) -> float:
    """Seconds that this process had the processor in one of so many calls: while other work has it, no time passes."""
    begin = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - begin) / times


def measure_times(
    jobs: Sequence[tuple[str, str, Case]], sizes: Sizes, repeats: int, say: Callable[[str], None]
) -> list[list[float]]:
    """Processor seconds of a call of every job (mechanism, pass, case), a list of the repeats for each.

    All jobs take turns: other work on the machine takes no time from these, but caches and memory, from all alike.
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
    """MiB of tensors at the peak of a call of every job; inputs and weights are there before and do not count.

    The process has to have been started with `SETTINGS`.
    """
    programs: dict[tuple[str, str, int], Callable[[Any], Any]] = {}
    found = []
    for name, which, case in jobs:
        key = name, which, case.width
        if key not in programs:
            programs[key] = compiled(name, case.width, sizes, which == PASSES[1])
        program, values = programs[key], sequence(case)
        program(values)  # what the first call prepares is not what is measured
        found.append(growth(lambda program=program, values=values: program(values)))
    return found


SETTINGS = {"TF_CPU_ALLOCATOR_USE_BFC": "1"}
"""Environment in which TensorFlow counts all its tensors on the processor: without it only those of 256 KiB and more
are counted."""


def growth(call: Callable[[], Any]) -> float:
    """MiB of tensors at the peak of a call, more than before it, as TensorFlow's allocator counts them.

    Not the resident memory of the process: the allocator keeps what was freed, so all but the first large case would
    seem to need nothing. What kernels take for themselves past the allocator is not seen.
    """
    tf.config.experimental.reset_memory_stats(DEVICE)
    before = tf.config.experimental.get_memory_info(DEVICE)["current"]
    call()
    return max(tf.config.experimental.get_memory_info(DEVICE)["peak"] - before, SMALLEST) / 2**20


DEVICE = "CPU:0"
SMALLEST = 256
"""Bytes that the allocator gives out at least."""
