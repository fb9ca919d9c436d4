"""The training speed of nmt for one case, measured in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import keras
import numpy as np

from benchmarks.benchmarking.cases import SIZES, Case, flops_per_batch
from benchmarks.benchmarking.layouts import find, find_method
from benchmarks.benchmarking.machine import memory_of_training
from benchmarks.benchmarking.update_parts import run_updates, time_input, time_operations, time_parts

PAD = find("PAD")
BatchPlan, FewShapesPlan, sort_by_length = find("BatchPlan"), find("FewShapesPlan"), find("sort_by_length")
Batch, EncodedCorpus, pass_batches = find("Batch"), find("EncodedCorpus"), find("pass_batches")
Seq2Seq, TrainStep, Adam = find("Seq2Seq"), find("TrainStep"), find("Adam")
encoder, batch_shapes = find("encoder"), find("batch_shapes")

SMOOTHING = 0.1
WINDOW = 20_000
"""Pairs that are sorted by length together."""


class SentencePlan(BatchPlan):
    """Batches of a fixed number of sentences of similar length; `batch_tokens` is this number."""

    def batches(self, pass_index: int, begin: Any = None) -> Iterator[np.ndarray]:
        """The batches of a whole epoch: `begin`, where newer plans may begin, is always its start here."""
        random = np.random.default_rng((self.seed, pass_index))
        order = random.permutation(len(self.source_lengths))
        for begin in range(0, len(order), self.window):
            indices = sort_by_length(self.source_lengths, self.target_lengths, order[begin : begin + self.window])
            cuts = range(0, len(indices) - self.batch_tokens + 1, self.batch_tokens)
            for cut in random.permutation(np.array(cuts, int)):
                yield indices[cut : cut + self.batch_tokens]


class SentenceFewShapesPlan(FewShapesPlan):
    """Batches of a fixed number of sentences in few shapes; blank rows fill the last ones."""

    def rows(self, width: int) -> int:
        return self.batch_tokens


def make_plan(case: Case, pairs: EncodedCorpus) -> BatchPlan:
    """The batches of a case, in few shapes where the backend compiles a program for each shape."""
    lengths = pairs.source.lengths + 1, pairs.target.lengths + 1
    if shapes := batch_shapes(case.shapes):
        few_shapes = SentenceFewShapesPlan if case.sentences else FewShapesPlan
        return few_shapes(*lengths, case.sentences or case.tokens, WINDOW, 1, shapes)
    any_shape = SentencePlan if case.sentences else BatchPlan
    return any_shape(*lengths, case.sentences or case.tokens, WINDOW, 1)


def measure(case: Case, corpus: Path, updates: tuple[int, int], split: bool) -> dict[str, Any]:
    """Trains a new model and times the updates from `updates[0]` to `updates[1]`.

    Args:
        case: the model, its precision and its batches.
        corpus: directory of the encoded pairs.
        updates: the first and the last update that is timed.
        split: whether to time the parts of an update too.
    """
    find("configure_runtime")()
    keras.utils.set_random_seed(1)
    pairs = EncodedCorpus(corpus)
    plan = make_plan(case, pairs)
    step = make_step(case, plan)
    batches, first = _endless(pairs, plan), batch_of_each_width(pairs, plan)
    begin = time.perf_counter()
    run_updates(step, first)
    compiled = time.perf_counter() - begin
    run_updates(step, islice(batches, updates[0] - 1))
    measured: dict[str, Any] = _time_updates(step, batches, updates[1] - updates[0], case)
    measured |= {"compile_s": compiled, "shapes": len(first), "parameters_m": step.model.count_params() / 1e6}
    measured["cudnn"] = uses_cudnn(step.model)
    measured["padding"] = find_method(plan, "padding_share")(list(plan.batches(0)))
    if split:
        measured |= time_input(step, pairs, plan) | time_parts(step, pairs, plan, SMOOTHING)
        measured["operations"] = time_operations(step, pairs, plan)
    return measured | {"peak_memory_mib": memory_of_training()}


def make_step(case: Case, plan: BatchPlan) -> TrainStep:
    """The training step of a new model, with the optimizer that `nmt train` has."""
    if case.loop:
        encoder.fused_lstm = lambda: False
    model = Seq2Seq(SIZES[case.size], case.vocabulary, case.vocabulary, seed=1, dtype=case.precision)
    model.build()
    optimizer = Adam(0.001, global_clipnorm=1.0, use_ema=True, ema_momentum=0.999)
    if case.precision == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    optimizer.build(model.trainable_variables)
    if limit_memory := find_method(model, "limit_attention_memory"):  # an older checkout has none
        limit_memory(find_method(plan, "largest_batch_cells")(plan.batches(0)))
    longest = int(np.maximum(plan.source_lengths, plan.target_lengths).max())
    slices = find("slices_for")(case.tokens or case.sentences * longest, case.vocabulary)
    return TrainStep(model, optimizer, SMOOTHING, slices)


def batch_of_each_width(pairs: EncodedCorpus, plan: BatchPlan) -> list[Batch]:
    """One batch of each width in the plan; a single batch where one program takes all widths."""
    found = {plan.width(indices): indices for indices in plan.batches(0)}
    return [pairs.batch(indices, width) for width, indices in found.items()]


def uses_cudnn(model: Seq2Seq) -> bool:
    """Whether the encoder's recurrence is cuDNN's kernel; the program of its first layer shows it."""
    fused = getattr(encoder, "fused_lstm", None)  # an older checkout's encoder has none
    if model.config.architecture == "transformer" or not fused or not fused():
        return False
    layer = model.encoder.layers[0].forward
    values = np.zeros((2, 3, layer.cell.kernel.shape[0]), np.float32)
    if keras.backend.backend() == "jax":
        import jax

        program = jax.jit(lambda values: layer(values)).lower(values).as_text()
    else:
        import tensorflow as tf

        program = str(tf.function(lambda: layer(values)).get_concrete_function().graph.as_graph_def())
    return "cudnn" in program.lower()


def _endless(pairs: EncodedCorpus, plan: BatchPlan) -> Iterator[Batch]:
    """The batches of one epoch after the other."""
    index = 0
    while True:
        yield from pass_batches(pairs, plan, index, 0)
        index += 1


def _time_updates(step: Callable[[Batch], Any], batches: Iterator[Batch], updates: int, case: Case) -> dict[str, float]:
    """Target tokens per second without padding, GFLOP/s and the last loss."""
    timed: list[Batch] = []

    def remembered() -> Iterator[Batch]:
        for batch in islice(batches, updates):
            timed.append(batch)
            yield batch

    begin = time.perf_counter()
    loss = run_updates(step, remembered())
    seconds = time.perf_counter() - begin
    tokens = sum(int(np.count_nonzero(np.asarray(batch.target_out) != PAD)) for batch in timed)
    shapes = [(*batch.source.shape, batch.target_in.shape[1]) for batch in timed]
    flops = sum(flops_per_batch(SIZES[case.size], case.vocabulary, *map(int, shape)) for shape in shapes)
    return {"tokens_per_s": tokens / seconds, "gflops": flops / seconds / 1e9, "loss": loss}
