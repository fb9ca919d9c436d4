"""Our training speed for one case, in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

from benchmarks.benchmarking.cases import SIZES, Case, flops_per_batch
from benchmarks.benchmarking.machine import memory_of_training
from benchmarks.benchmarking.profile import operations
from nmt.backend.compiling import batch_shapes
from nmt.backend.machine import configure_runtime
from nmt.batches.arrays import Batch
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.pipeline import pass_batches
from nmt.batches.plan import BatchPlan, FewShapesPlan, sort_by_length
from nmt.network import encoder
from nmt.network.losses.output_loss import slices_for
from nmt.network.model import Seq2Seq
from nmt.text.pieces import PAD
from nmt.training.optimizer import Adam
from nmt.training.step import TrainStep

SMOOTHING = 0.1
WINDOW = 20_000


class SentencePlan(BatchPlan):
    """Batches of a fixed number of sentences (`batch_tokens` counts sentences), of like length."""

    def batches(self, pass_index: int) -> Iterator[np.ndarray]:
        random = np.random.default_rng((self.seed, pass_index))
        order = random.permutation(len(self.source_lengths))
        for begin in range(0, len(order), self.window):
            indices = sort_by_length(self.source_lengths, self.target_lengths, order[begin : begin + self.window])
            cuts = range(0, len(indices) - self.batch_tokens + 1, self.batch_tokens)
            for cut in random.permutation(np.array(cuts, int)):
                yield indices[cut : cut + self.batch_tokens]


class SentenceGridPlan(FewShapesPlan):
    """Batches of a fixed number of sentences in few shapes; the last ones are filled with blank rows."""

    def rows(self, width: int) -> int:
        return self.batch_tokens


def plan_of(case: Case, pairs: EncodedCorpus) -> BatchPlan:
    """Batches as the case wants them, in few shapes where the backend compiles for each."""
    lengths = pairs.source.lengths + 1, pairs.target.lengths + 1
    if shapes := batch_shapes(case.shapes):
        few = SentenceGridPlan if case.sentences else FewShapesPlan
        return few(*lengths, case.sentences or case.tokens, WINDOW, 1, shapes)
    any_shape = SentencePlan if case.sentences else BatchPlan
    return any_shape(*lengths, case.sentences or case.tokens, WINDOW, 1)


def measure(case: Case, corpus: Path, updates: tuple[int, int], split: bool) -> dict[str, Any]:
    """Trains from the start and times the updates from `updates[0]` to `updates[1]`.

    Args:
        case: what to train.
        corpus: directory of the encoded pairs.
        split: whether to take the update apart as well.
    """
    configure_runtime()
    keras.utils.set_random_seed(1)
    pairs = EncodedCorpus(corpus)
    plan = plan_of(case, pairs)
    if case.loop:  # of an older checkout there is none (`benchmark.systems`)
        encoder.fused_lstm = lambda: False
    model = Seq2Seq(SIZES[case.size], case.vocabulary, case.vocabulary, seed=1, dtype=case.precision)
    model.build()
    optimizer = Adam(0.001, global_clipnorm=1.0, use_ema=True, ema_momentum=0.999)
    if case.precision == "mixed_float16":  # as training does
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    optimizer.build(model.trainable_variables)
    longest = int(np.maximum(plan.source_lengths, plan.target_lengths).max())
    if hasattr(model, "limit_attention_memory"):
        model.limit_attention_memory(plan.largest_batch_cells(plan.batches(0)))
    slices = slices_for(case.tokens or case.sentences * longest, case.vocabulary)
    step = TrainStep(model, optimizer, SMOOTHING, slices)
    batches = _endless(pairs, plan)
    first = of_each_width(pairs, plan)
    begin = time.perf_counter()
    for batch in first:
        step(batch)
    compiled = time.perf_counter() - begin
    for _ in range(updates[0] - 1):
        step(next(batches))
    timed = _timed(step, batches, updates[1] - updates[0], case)
    timed |= {"compile_s": compiled, "shapes": len(first), "parameters_m": model.count_params() / 1e6}
    timed["cudnn"] = uses_cudnn(model)
    timed["padding"] = plan.padding_share(list(plan.batches(0)))
    if split:
        timed |= _repeated(step, pairs, plan) | _split(model, step, pairs, plan)
        timed["operations"] = _profile(step, pairs, plan)
    return timed | {"peak_memory_mib": memory_of_training()}


def of_each_width(pairs: EncodedCorpus, plan: BatchPlan) -> list[Batch]:
    """A batch of each width that the plan knows; one where it knows none and a program takes any."""
    found = {plan.width(indices): indices for indices in plan.batches(0)}
    return [pairs.batch(indices, width) for width, indices in found.items()]


def uses_cudnn(model: Seq2Seq) -> bool:
    """Whether the recurrence of the encoder is cuDNN's kernel, read off the program of its first layer."""
    fused = getattr(encoder, "fused_lstm", None)  # with --before, an older checkout's encoder
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
    index = 0
    while True:
        yield from pass_batches(pairs, plan, index, 0)
        index += 1


def _real(batch: Batch) -> int:
    return int(np.count_nonzero(np.asarray(batch.target_out) != PAD))


def _timed(step: Callable[[Batch], float], batches: Iterator[Batch], updates: int, case: Case) -> dict[str, float]:
    tokens, flops, seen = 0, 0.0, []
    begin = time.perf_counter()
    for _ in range(updates):
        batch = next(batches)
        loss = step(batch)
        seen.append((_real(batch), batch.source.shape, batch.target_in.shape[1]))
    seconds = time.perf_counter() - begin
    for real, (rows, positions), steps in seen:
        tokens += real
        flops += flops_per_batch(SIZES[case.size], case.vocabulary, int(rows), int(positions), int(steps))
    return {"tokens_per_s": tokens / seconds, "gflops": flops / seconds / 1e9, "loss": loss}


def _typical(pairs: EncodedCorpus, plan: BatchPlan, count: int) -> list[Batch]:
    """Batches in memory, evenly spread over those of a pass."""
    planned = list(plan.batches(0))
    chosen = [planned[i] for i in np.linspace(0, len(planned) - 1, count).astype(int)]
    return [pairs.batch(indices, plan.width(indices)) for indices in chosen]


def _repeated(step: Callable[[Batch], float], pairs: EncodedCorpus, plan: BatchPlan) -> dict[str, float]:
    """The same batches through the pipeline and out of memory: the difference is what input costs."""
    planned = list(plan.batches(0))[:40]
    batches = [pairs.batch(indices, plan.width(indices)) for indices in planned]
    seconds = {}
    for name, source in (("from_memory", iter(batches)), ("through_pipeline", pass_batches(pairs, plan, 0, 0))):
        begin = time.perf_counter()
        for _ in range(len(planned)):
            step(next(source))
        seconds[name] = (time.perf_counter() - begin) / len(planned)
    return {f"update_{name}_ms": 1e3 * value for name, value in seconds.items()}


def _split(model: Seq2Seq, step: TrainStep, pairs: EncodedCorpus, plan: BatchPlan) -> dict[str, float]:
    """Milliseconds of an update by part: each part is what an update costs more than one without it."""
    batches = _typical(pairs, plan, 12)

    def encode(source: Any, target_in: Any, target_out: Any, *_: Any) -> Any:
        memory, final, *_ = model.encode(source, training=True)
        return keras.ops.sum(keras.ops.cast(memory, "float32")) + keras.ops.sum(final)

    def read(source: Any, target_in: Any, target_out: Any, *_: Any) -> Any:
        readout, _ = model.read(source, target_in, training=True)
        return keras.ops.sum(keras.ops.cast(readout, "float32"))

    def whole(source: Any, target_in: Any, target_out: Any, *kernel: Any) -> Any:
        return model.total_loss(source, target_in, target_out, SMOOTHING, step.slices, *kernel)

    spent = [_per_call(_with_gradient(step, function), batches) for function in (encode, read, whole)]
    spent.append(_per_call(lambda *batch: step(Batch(*batch)), batches))
    names = ("encoder_ms", "decoder_ms", "output_and_loss_ms", "optimizer_ms")
    return dict(zip(names, np.diff([0.0, *spent]).tolist(), strict=True))


def _profile(step: TrainStep, pairs: EncodedCorpus, plan: BatchPlan) -> list[list[Any]]:
    """The ten operations that take most time."""
    if keras.backend.backend() != "tensorflow":
        return []
    batches = _typical(pairs, plan, 6)
    return [list(found) for found in operations(lambda: [step(batch) for batch in batches], len(batches))[:10]]


def _with_gradient(step: TrainStep, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` and its gradient by the model's weights, compiled as the step is; returns the value alone."""
    variables = step.model.trainable_variables
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        def losses(part: Any, whole: Any, *kernel: Any) -> Any:  # which an older version does not give
            value = function(*part, *kernel)
            return value, value

        ids = tf.TensorSpec([None, None], tf.int32)
        # The gradients are given too: what nobody is given, TensorFlow does not compute.
        run = tf.function(lambda *batch: step.gradients(losses, batch), input_signature=[ids] * 3, autograph=False)
        return lambda *batch: run(*batch)[0]
    import jax

    def value(weights: list[Any], *batch: Any) -> Any:
        with keras.StatelessScope(state_mapping=list(zip(variables, weights, strict=True))):
            return function(*batch)

    compiled = jax.jit(jax.value_and_grad(value))
    return lambda *batch: compiled([v.value for v in variables], *batch)[0]


def _per_call(function: Callable[..., Any], batches: list[Batch]) -> float:
    """Median over rounds of the milliseconds a batch."""
    rounds = []
    for _ in range(6):  # the first compiles
        begin = time.perf_counter()
        for batch in batches:
            float(function(*batch))
        rounds.append(1e3 * (time.perf_counter() - begin) / len(batches))
    return float(np.median(rounds[1:]))
