"""The time of the parts of an update: input, encoder, decoder, output and loss, optimizer, single operations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import keras
import numpy as np

from benchmarks.benchmarking.layouts import find, find_method
from benchmarks.benchmarking.profile import operations

Batch, BatchPlan, EncodedCorpus = find("Batch"), find("BatchPlan"), find("EncodedCorpus")
pass_batches, TrainStep = find("pass_batches"), find("TrainStep")

MOST_COSTLY = 10
"""Operations in the report."""


def run_updates(step: Callable[[Batch], Any], batches: Iterable[Batch]) -> float:
    """Makes an update with each batch and returns the last loss.

    Like training, it reads the loss of an update after it starts the next one, so that the device never waits.
    """
    pending: Any = 0.0
    for batch in batches:
        loss = step(batch)
        float(pending)
        pending = loss
    return float(pending)


def time_input(step: Callable[[Batch], float], pairs: EncodedCorpus, plan: BatchPlan) -> dict[str, float]:
    """Milliseconds per update of the same batches from memory and through the pipeline; the difference is the input."""
    planned = list(plan.batches(0))[:40]
    batches = [pairs.batch(indices, plan.width(indices)) for indices in planned]
    seconds = {}
    for name, source in (("from_memory", iter(batches)), ("through_pipeline", pass_batches(pairs, plan, 0, 0))):
        begin = time.perf_counter()
        run_updates(step, islice(source, len(planned)))
        seconds[name] = (time.perf_counter() - begin) / len(planned)
    return {f"update_{name}_ms": 1e3 * value for name, value in seconds.items()}


def time_parts(step: TrainStep, pairs: EncodedCorpus, plan: BatchPlan, smoothing: float) -> dict[str, float]:
    """Milliseconds of each part of an update.

    Programs of growing length are timed: the encoder, the encoder and the decoder, the whole loss, the update. The time
    of a part is the difference of two programs.
    """
    batches, model = _typical(pairs, plan, 12), step.model

    def encode(source: Any, target_in: Any, target_out: Any, *_: Any) -> Any:
        memory, final, *_ = model.encode(source, training=True)
        return keras.ops.sum(keras.ops.cast(memory, "float32")) + keras.ops.sum(final)

    def read(source: Any, target_in: Any, target_out: Any, *_: Any) -> Any:
        readout, _ = find_method(model, "readouts")(source, target_in, training=True)
        return keras.ops.sum(keras.ops.cast(readout, "float32"))

    def whole(source: Any, target_in: Any, target_out: Any, *kernel: Any) -> Any:
        return model.total_loss(source, target_in, target_out, smoothing, step.slices, *kernel)

    spent = [_milliseconds(_with_gradient(step, function), batches) for function in (encode, read, whole)]
    spent.append(_milliseconds(lambda *batch: float(step(Batch(*batch))), batches))
    names = ("encoder_ms", "decoder_ms", "output_and_loss_ms", "optimizer_ms")
    return dict(zip(names, np.diff([0.0, *spent]).tolist(), strict=True))


def time_operations(step: TrainStep, pairs: EncodedCorpus, plan: BatchPlan) -> list[list[Any]]:
    """The operations that take most time, as lists for JSON; empty on other backends than TensorFlow."""
    if keras.backend.backend() != "tensorflow":
        return []
    batches = _typical(pairs, plan, 6)
    found = operations(lambda: [step(batch) for batch in batches], len(batches))
    return [list(operation) for operation in found[:MOST_COSTLY]]


def _typical(pairs: EncodedCorpus, plan: BatchPlan, count: int) -> list[Batch]:
    """Batches in memory, evenly spread over the plan of an epoch."""
    planned = list(plan.batches(0))
    chosen = [planned[i] for i in np.linspace(0, len(planned) - 1, count).astype(int)]
    return [pairs.batch(indices, plan.width(indices)) for indices in chosen]


def _with_gradient(step: TrainStep, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` and its gradient by the model's weights, compiled like the step; returns the value alone."""
    variables = step.model.trainable_variables
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        def losses(part: Any, whole: Any, *kernel: Any) -> Any:  # older checkouts pass no kernel
            value = function(*part, *kernel)
            return value, value

        ids = tf.TensorSpec([None, None], tf.int32)
        # The program returns the gradients too: TensorFlow leaves out a result that nobody takes.
        run = tf.function(lambda *batch: step.gradients(losses, batch), input_signature=[ids] * 3, autograph=False)
        return lambda *batch: run(*batch)[0]
    import jax

    def value(weights: list[Any], *batch: Any) -> Any:
        with keras.StatelessScope(state_mapping=list(zip(variables, weights, strict=True))):
            return function(*batch)

    compiled = jax.jit(jax.value_and_grad(value))
    return lambda *batch: compiled([v.value for v in variables], *batch)[0]


def _milliseconds(function: Callable[..., Any], batches: list[Batch]) -> float:
    """Milliseconds per batch, the median of the rounds over all batches."""
    rounds = []
    for _ in range(6):  # the first compiles
        begin = time.perf_counter()
        for batch in batches:
            float(function(*batch))
        rounds.append(1e3 * (time.perf_counter() - begin) / len(batches))
    return float(np.median(rounds[1:]))
