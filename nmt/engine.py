"""What differs by backend: compiling, training steps, determinism, precision. With pipeline.py the only room that
imports TensorFlow."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import keras
import numpy as np

from nmt.batching import Batch, GuidedBatch
from nmt.config import Precision
from nmt.errors import NmtError
from nmt.losses import count_tokens
from nmt.model import Seq2Seq
from nmt.tokenizer import PAD


class EngineError(NmtError):
    """Something that this backend cannot do."""


def compile_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of arrays or tensors as one compiled program; on TensorFlow one trace serves every shape, so the
    function finds no axis known."""
    if keras.backend.backend() == "tensorflow":
        return _traced_once(function)
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    raise EngineError(f"the Keras backend is {keras.backend.backend()}: expected tensorflow or jax")


def _traced_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """A TensorFlow function that is traced for any shape before it first runs. Left alone, TensorFlow traces the first
    arguments as they are and the second anew, a second or more each for a search."""
    import tensorflow as tf

    # Without AutoGraph: control flow is in keras.ops, and a trace must not depend on the source file's later edits.
    compiled = tf.function(function, reduce_retracing=True, autograph=False)
    tracing = Lock()  # of several batches at once the first one traces

    def of_any_shape(values: Any) -> Any:
        return tf.TensorSpec([None] * len(values.shape), values.dtype)

    def call(*arguments: Any) -> Any:
        with tracing:
            if not compiled.experimental_get_tracing_count():
                compiled.get_concrete_function(*tf.nest.map_structure(of_any_shape, arguments))
        return compiled(*arguments)

    return call


AT_ONCE = 4
"""Batches, or parts of a batch, that are computed at once, if there are processors for them."""


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_processors() -> None:
    """Gives an operation a share of the processors, so that several batches can be at once (see `batches_at_once`): of
    a model's many small operations, two threads on one make little more than one.

    To be called before anything is computed. Later it is without effect, and so it is where it is not TensorFlow that
    computes, or not on processors alone, or the user has set TF_NUM_INTRAOP_THREADS.
    """
    if _tensorflow_without_gpu() and not os.environ.get("TF_NUM_INTRAOP_THREADS"):
        import tensorflow as tf

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


def dynamic_shapes() -> bool:
    """Whether a compiled program takes tensors whose shape depends on values."""
    return bool(keras.backend.backend() == "tensorflow")


def rounds_products() -> bool:
    """Whether a product in half precision is rounded just where the program says so; XLA may leave that out."""
    return bool(keras.backend.backend() == "tensorflow")


def set_determinism(seed: int, deterministic: bool) -> None:
    """Seeds Keras, NumPy and Python; `deterministic` asks TensorFlow for operations that repeat to the bit."""
    keras.utils.set_random_seed(seed)
    if deterministic and keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        tf.config.experimental.enable_op_determinism()


def batch_shapes(wanted: int) -> int:
    """How many shapes batches may have, 0 for any: what is wanted, else 24 on JAX, which compiles for each of them."""
    return wanted or (24 if keras.backend.backend() == "jax" else 0)


def decide_precision(wanted: Precision) -> Precision:
    """The Keras policy that `auto` means on this hardware.

    bfloat16 where it is multiplied natively and faster: by CPUs with AVX512-BF16 or AMX where a trial says so, by GPUs
    of compute capability 8 and later. On older GPUs float16 with loss scaling, on other CPUs float32.
    """
    if wanted != "auto":
        return wanted
    if keras.backend.backend() == "jax":
        import jax

        native = jax.default_backend() == "gpu" or _cpu_multiplies_bfloat16()
        return "mixed_bfloat16" if native else "float32"
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return "mixed_bfloat16" if _cpu_multiplies_bfloat16() else "float32"
    capability = tf.config.experimental.get_device_details(gpus[0]).get("compute_capability", (0, 0))
    return "mixed_bfloat16" if capability >= (8, 0) else "mixed_float16"


def _cpu_multiplies_bfloat16() -> bool:
    """Whether products in bfloat16 pay: some processors that have the instructions run them at half of float32's speed,
    so it is tried, for a moment, where the processor says that it has them."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return False
    if "avx512_bf16" not in flags and "amx_bf16" not in flags:
        return False
    return _product_seconds("bfloat16") < 0.8 * _product_seconds("float32")


def _product_seconds(dtype: str) -> float:
    """Seconds of a matrix product of the size of a training step's large ones, the best of several."""
    random = np.random.default_rng(0)
    shapes = (512, 1024), (1024, 1024)
    left, right = (keras.ops.convert_to_tensor(random.random(shape, np.float32) - 0.5, dtype) for shape in shapes)
    # A number that needs the whole product; fetching it waits for backends that compute behind our back.
    greatest = compile_function(
        lambda left, right: keras.ops.max(keras.ops.cast(keras.ops.matmul(left, right), "float32"))
    )
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        float(greatest(left, right))
        seconds.append(time.perf_counter() - started)
    return min(seconds)


Inputs = Sequence[Any]
"""The tensors of a `Batch`, or of a `GuidedBatch` and the weight of its guidance."""


def _parts(inputs: Inputs, count: int) -> list[list[Any]]:
    """A batch in parts of as many sentences each, give or take one. Padding that a part does not need is cut off."""
    if count == 1:
        return [list(inputs)]
    rows, parts = keras.ops.shape(inputs[0])[0], []
    for index in range(count):
        own = slice(rows * index // count, rows * (index + 1) // count)
        source, target_in, target_out, *guide = inputs
        positions, steps = (slice(_longest(ids[own])) for ids in (source, target_out))
        if guide:
            links, weight = guide
            guide = [links[own, steps, positions], weight]
        parts.append([source[own, positions], target_in[own, steps], target_out[own, steps], *guide])
    return parts


def _longest(ids: Any) -> Any:
    """Of rows that end in padding the greatest length without it, int32; at least 1, also of no rows."""
    return keras.ops.max(keras.ops.sum(keras.ops.cast(ids != PAD, "int32"), axis=1), initial=1)


class TrainStep:
    """One optimizer step on a batch, compiled: model.loss, its gradient, and the update.

    Args:
        model: built model whose variables the step changes.
        optimizer: built Keras optimizer; a loss-scaling one scales the loss.
        smoothing: of the labels.
        slices: of the output layer and its loss, see `losses.output_loss`.
    """

    def __init__(
        self, model: Seq2Seq, optimizer: keras.optimizers.Optimizer, smoothing: float, slices: int = 1
    ) -> None:
        self.model, self.optimizer, self.smoothing = model, optimizer, smoothing
        self.slices = -(-slices // batches_at_once())  # of each part, and a part is a slice of the batch already

    def __call__(self, batch: Batch) -> float:
        """Updates the model; returns the mean loss of the batch's tokens in nats."""
        return float(self._plain(*batch)[0])

    def guided(self, batch: GuidedBatch, weight: float) -> tuple[float, float]:
        """Updates the model by the loss of its translation and `weight` times that of its attention.

        Returns:
            Mean loss of the batch's tokens, and of its linked steps, in nats.
        """
        translation, attention = self._guided(*batch, np.float32(weight))
        return float(translation), float(attention)

    @cached_property
    def _plain(self) -> Callable[..., Any]:
        return self._compiled(self._loss, guided=False)

    @cached_property
    def _guided(self) -> Callable[..., Any]:
        return self._compiled(self._guided_loss, guided=True)

    def _compiled(self, losses: Callable[..., Any], guided: bool) -> Callable[..., Any]:
        """The step as one program; `losses` gives what is minimised, and what is told."""
        return self._tensorflow(losses, guided) if keras.backend.backend() == "tensorflow" else self._jax(losses)

    def _loss(self, part: Inputs, whole: Inputs) -> tuple[Any, tuple[Any, ...]]:
        """The share of a part of a batch in the mean loss of its tokens."""
        source, target_in, target_out = part
        total = self.model.total_loss(source, target_in, target_out, self.smoothing, self.slices)
        loss = total / count_tokens(whole[2])
        return loss, (loss,)

    def _guided_loss(self, part: Inputs, whole: Inputs) -> tuple[Any, tuple[Any, ...]]:
        source, target_in, target_out, links, weight = part
        total, guided = self.model.guided_loss(source, target_in, target_out, links, self.smoothing, self.slices)
        # Rows sum to one or to zero: the sum of all is the number of linked steps.
        attention = guided / keras.ops.maximum(keras.ops.sum(whole[3]), 1.0)
        translation = total / count_tokens(whole[2])
        return translation + weight * attention, (translation, attention)

    def _tensorflow(self, losses: Callable[..., Any], guided: bool) -> Callable[..., Any]:
        import tensorflow as tf

        variables = self.model.trainable_variables

        def gradients(part: Inputs, whole: Inputs) -> tuple[Any, list[Any]]:
            with tf.GradientTape() as tape:
                loss, told = losses(part, whole)
                scaled = self.optimizer.scale_loss(loss)
            # Those of embeddings are dense from here on: clipping and Adam would each make them so for themselves.
            found = tape.gradient(scaled, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
            return told, [tf.convert_to_tensor(gradient) for gradient in found]

        def step(*inputs: Any) -> Any:
            # Independent of each other up to the sum, so TensorFlow computes them at once.
            found = [gradients(part, inputs) for part in _parts(inputs, batches_at_once())]
            told, summed = tf.nest.map_structure(lambda *values: tf.add_n(values), *found)
            self.optimizer.apply(summed, variables)
            return told

        signature = [tf.TensorSpec([None, None], tf.int32)] * 3
        if guided:
            signature += [tf.TensorSpec([None, None, None], tf.float32), tf.TensorSpec([], tf.float32)]
        return tf.function(step, input_signature=signature, autograph=False)

    def _jax(self, losses: Callable[..., Any]) -> Callable[..., Any]:
        import jax

        model, optimizer = self.model, self.optimizer

        def scaled_loss(trainable: Any, fixed: Any, optimizer_values: Any, *inputs: Any) -> Any:
            mapping = zip(
                [*model.trainable_variables, *model.non_trainable_variables], [*trainable, *fixed], strict=True
            )
            with keras.StatelessScope(state_mapping=list(mapping)) as scope:
                loss, told = losses(inputs, inputs)
                scaled = optimizer.scale_loss(loss)
            return scaled, (told, [scope.get_current_value(v) for v in model.non_trainable_variables])

        @jax.jit
        def step(trainable: Any, fixed: Any, optimizer_values: Any, *inputs: Any) -> Any:
            gradient = jax.value_and_grad(scaled_loss, has_aux=True)
            (_, (told, fixed)), gradients = gradient(trainable, fixed, optimizer_values, *inputs)
            trainable, optimizer_values = optimizer.stateless_apply(optimizer_values, gradients, trainable)
            return told, (trainable, fixed, optimizer_values)

        def update(*inputs: Any) -> Any:
            groups = (model.trainable_variables, model.non_trainable_variables, optimizer.variables)
            told, values = step(*([v.value for v in group] for group in groups), *inputs)
            for group, new in zip(groups, values, strict=True):
                for variable, value in zip(group, new, strict=True):
                    variable.assign(value)
            return told

        return update


AVERAGED_EVERY = 8
"""Updates between two steps of the moving average: a step goes over all weights, and neighbours hardly differ."""


@keras.saving.register_keras_serializable("nmt")
class Adam(keras.optimizers.Adam):
    """Keras's Adam, with moving averages that reach no further back than about the last third of the run.

    Every eighth update's weights enter the average, so that the others need not go over it: the n-th of them with the
    decay min(`ema_momentum`^8, n / (n + 3)). An average with a constant decay would hold much of the first weights for
    as many steps as it is long, which is more than a short run has.
    """

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Kingma and Ba (2015), algorithm 1, in the order of section 2's last lines.

        On TensorFlow by its own kernel, which goes through weight, moments and gradient once; as single operations, as
        Keras writes it, they travel between memory and processor several times.
        """
        if keras.backend.backend() != "tensorflow":
            super().update_step(gradient, variable, learning_rate)
            return
        import tensorflow as tf

        index = self._get_variable_index(variable)
        moments = (moment[index].value for moment in (self._momentums, self._velocities))
        step = keras.ops.cast(self.iterations + 1, "float32")
        tf.raw_ops.ResourceApplyAdam(
            **{name: value.handle for name, value in zip(("var", "m", "v"), (variable, *moments), strict=True)},
            beta1_power=self.beta_1**step,
            beta2_power=self.beta_2**step,
            lr=keras.ops.cast(learning_rate, "float32"),
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=tf.convert_to_tensor(gradient),
        )

    def _update_model_variables_moving_average(self, trainable_variables: list[Any]) -> None:
        if not self.use_ema:
            return
        batches = self.gradient_accumulation_steps or 1  # an update
        updates, rest = self._iterations // batches, (self._iterations + 1) % batches
        taken = keras.ops.cast(updates // AVERAGED_EVERY, "float32")
        part = 1 - keras.ops.minimum(self.ema_momentum**AVERAGED_EVERY, taken / (taken + 3.0))

        due = keras.ops.logical_and(rest == 0, updates % AVERAGED_EVERY == 0)

        def average(part: Any) -> None:
            for variable, mean in zip(trainable_variables, self._model_variables_moving_average, strict=True):
                mean.assign_sub(part * (mean.value - variable.value))

        if keras.backend.backend() == "tensorflow":
            keras.ops.cond(due, lambda: average(part), lambda: None)
        else:  # where variables are values that are handed on, none can be assigned under a condition
            average(part * keras.ops.cast(due, "float32"))


def variables_to_arrays(variables: list[Any]) -> dict[str, np.ndarray]:
    """Values of Keras variables by their place and path: `0003/seq2seq/decoder/state_kernel`."""
    return {f"{i:04d}/{v.path}": keras.ops.convert_to_numpy(v.value) for i, v in enumerate(variables)}


def assign_arrays(variables: list[Any], arrays: dict[str, np.ndarray], where: str) -> None:
    """Puts back what `variables_to_arrays` took.

    Raises:
        EngineError: another number of variables, or one of another shape.
    """
    if len(variables) != len(arrays):
        raise EngineError(f"{where}: holds {len(arrays)} arrays where the model has {len(variables)} variables")
    for variable, (name, array) in zip(variables, sorted(arrays.items()), strict=True):
        if tuple(variable.shape) != array.shape:
            raise EngineError(f"{where}: {name} has shape {array.shape}; the model needs {tuple(variable.shape)}")
        variable.assign(array)


def peak_memory() -> int:
    """Largest resident memory of this process so far in MiB; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def averaged_arrays(model: Seq2Seq, optimizer: keras.optimizers.Optimizer) -> dict[str, np.ndarray]:
    """The moving averages of the model's trainable variables where the optimizer keeps them, else their values."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if not inner.use_ema:
        return variables_to_arrays(model.trainable_variables)
    # Keras offers no public way to read the averages without overwriting the weights.
    averages = inner._model_variables_moving_average
    return {
        f"{i:04d}/{v.path}": keras.ops.convert_to_numpy(average.value)
        for i, (v, average) in enumerate(zip(model.trainable_variables, averages, strict=True))
    }


class EventWriter:
    """Event files for TensorBoard: scalars and images. Writes nothing where TensorFlow is not installed.

    TensorBoard itself is needed to look at them, not to write them: tf.summary.scalar and tf.summary.image live in
    that package, the plain tf.summary.write and the two plugins' formats do not.
    """

    def __init__(self, directory: Path) -> None:
        try:
            import tensorflow as tf
        except ImportError:
            tf = None
        self._tensorflow, self._directory = tf, directory
        self._writer: Any = None

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """A point at `step` for each named curve."""
        for name, value in values.items():
            self._write(step, "scalars", name, np.float32(value))

    def image(self, step: int, name: str, pixels: np.ndarray) -> None:
        """A picture, uint8 [height, width, 3 or 4]."""
        if self._tensorflow:
            png = self._tensorflow.io.encode_png(pixels).numpy()
            self._write(step, "images", name, [str(pixels.shape[1]).encode(), str(pixels.shape[0]).encode(), png])

    def _write(self, step: int, plugin: str, name: str, value: Any) -> None:
        if self._tensorflow:
            from tensorflow.core.framework.summary_pb2 import SummaryMetadata

            # The file begins with the first point: a run that has ended already gets no empty one.
            self._writer = self._writer or self._tensorflow.summary.create_file_writer(str(self._directory))
            metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin))
            with self._writer.as_default(step):
                self._tensorflow.summary.write(name, value, metadata=metadata)
            self._writer.flush()
