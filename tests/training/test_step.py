"""The training step against one made by hand, loss scaling, moving averages, precision, event files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nmt.backend import precision
from nmt.backend.compiling import compile_function, snapshot
from nmt.backend.determinism import set_determinism
from nmt.backend.errors import BackendError
from nmt.backend.machine import AT_ONCE, batches_at_once, configure_runtime, peak_memory, processors
from nmt.backend.precision import decide_precision
from nmt.batches.arrays import Batch, GuidedBatch
from nmt.config import DropoutConfig
from nmt.network.weights import assign_arrays, variables_to_arrays
from nmt.text.pieces import BOS, EOS, PAD
from nmt.training.averaging import averaged_arrays
from nmt.training.batch_parts import split_batch
from nmt.training.optimizer import Adam
from nmt.training.step import TrainStep
from nmt.training.tensorboard import EventWriter

BATCH = Batch(
    np.array([[4, 7, 9, EOS], [6, EOS, PAD, PAD]], np.int32),
    np.array([[BOS, 5, 6], [BOS, 9, PAD]], np.int32),
    np.array([[5, 6, EOS], [9, EOS, PAD]], np.int32),
)
SMOOTHING = 0.1


def built(optimizer: keras.optimizers.Optimizer, model: Any) -> keras.optimizers.Optimizer:
    optimizer.build(model.trainable_variables)
    return optimizer


def values(model: Any) -> list[np.ndarray]:
    return [np.array(v.value) for v in model.trainable_variables]


def loss_by_hand(model: Any) -> Any:
    """Smoothed cross-entropy as a sum over one-hot targets, by the number of real tokens: five."""
    logits, _ = model(BATCH.source, BATCH.target_in)
    smoothed = (1 - SMOOTHING) * tf.one_hot(BATCH.target_out, 12) + SMOOTHING / 12
    losses = -tf.reduce_sum(smoothed * tf.nn.log_softmax(logits), axis=-1)
    return tf.reduce_sum(tf.where(BATCH.target_out == PAD, 0.0, losses)) / 5


@pytest.fixture(params=[1, 3], ids="in {} parts".format)
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many parts of a batch are computed at once; the third of two sentences is empty."""
    monkeypatch.setattr("nmt.training.step.batches_at_once", lambda: request.param)
    return int(request.param)


def test_a_step_is_the_gradient_of_the_mean_loss_of_the_real_tokens(make_model: Callable, parts: int) -> None:
    model, rate = make_model(), 0.5
    with tf.GradientTape() as tape:
        loss = loss_by_hand(model)
    gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
    expected = [v - rate * np.array(tf.convert_to_tensor(g)) for v, g in zip(values(model), gradients, strict=True)]
    step = TrainStep(model, built(keras.optimizers.SGD(rate), model), SMOOTHING, slices=4)
    assert step.slices == {1: 4, 3: 2}[parts]
    assert float(step(BATCH)) == pytest.approx(float(loss), rel=1e-5)
    for found, wanted in zip(values(model), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_steps_lower_the_loss_and_keep_averages(make_model: Callable) -> None:
    """Every eighth step's weights enter the average: avg_0 = w_1, then avg_n = d avg_(n-1) + (1 - d) w_(8n+1) with
    d = min(0.95^8, n / (n + 19)). The weights themselves stay what the steps made them."""
    model = make_model()
    optimizer = built(Adam(0.02, use_ema=True, ema_momentum=0.95), model)
    step = TrainStep(model, optimizer, 0.0)
    losses, averages = [], None
    for t in range(25):
        losses.append(float(step(BATCH)))
        if t % 8 == 0:
            decay, new = min(0.95**8, t / 8 / (t / 8 + 19)), values(model)
            averages = [decay * a + (1 - decay) * w for a, w in zip(averages or new, new, strict=True)]
    assert losses[-1] < 0.2 * losses[0]
    found = averaged_arrays(model, optimizer)
    assert list(found) == list(variables_to_arrays(model.trainable_variables))
    for one, two in zip(found.values(), averages or [], strict=True):
        np.testing.assert_allclose(one, two, atol=1e-4)
    assert max(np.abs(a - w).max() for a, w in zip(found.values(), values(model), strict=True)) > 1e-2


def test_our_adam_is_keras_adam(make_model: Callable) -> None:
    """Clipping, schedule and untied embeddings, whose gradients are sparse, too."""

    def trained(kind: type[keras.optimizers.Adam]) -> list[np.ndarray]:
        model = make_model(tie="none")
        schedule = keras.optimizers.schedules.CosineDecay(0.05, 10)
        step = TrainStep(model, built(kind(schedule, global_clipnorm=0.5, epsilon=1e-4), model), 0.1)
        for _ in range(6):
            step(BATCH)
        return values(model)

    for ours, theirs in zip(trained(Adam), trained(keras.optimizers.Adam), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)


@pytest.mark.parametrize("kind", [Adam, keras.optimizers.Adam])
def test_one_gradient_that_is_no_number_spoils_all_weights(kind: type[keras.optimizers.Adam]) -> None:
    """As with Keras: where only some were spoilt, training could seem to go on."""
    weights = [keras.Variable(np.ones(2, np.float32)) for _ in range(2)]
    optimizer = kind(0.1, global_clipnorm=1.0)
    optimizer.build(weights)
    tf.function(optimizer.apply)([tf.constant([1.0, np.nan]), tf.constant([1.0, 1.0])])
    assert np.isnan(np.stack([weight.numpy() for weight in weights])).all()


def test_accumulated_gradients_are_averaged_for_one_update(make_model: Callable) -> None:
    """Three batches, their mean gradient clipped, one update and one step of the moving average; then three more."""
    halves = [Batch(*(side[begin : begin + 1] for side in BATCH)) for begin in range(2)]
    batches = [halves[0], halves[1], BATCH, halves[1], BATCH, BATCH]
    how = {"global_clipnorm": 0.3, "use_ema": True, "ema_momentum": 0.95, "epsilon": 1e-4}
    model = make_model()
    optimizer = built(Adam(0.05, gradient_accumulation_steps=3, **how), model)
    step, begin = TrainStep(model, optimizer, 0.0), values(model)
    for batch in batches[:2]:
        step(batch)
    for one, two in zip(begin, values(model), strict=True):
        np.testing.assert_array_equal(one, two)
    for batch in batches[2:]:
        step(batch)
    by_hand = make_model()
    optimizer_by_hand = built(Adam(0.05, **how), by_hand)
    variables = by_hand.trainable_variables

    @tf.function(autograph=False)
    def gradients(*batch: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            mean = by_hand.total_loss(*batch, 0.0) / tf.reduce_sum(tf.cast(batch[2] != PAD, tf.float32))
        return [tf.convert_to_tensor(gradient) for gradient in tape.gradient(mean, [v.value for v in variables])]

    for group in (batches[:3], batches[3:]):
        found = zip(*(gradients(*batch) for batch in group), strict=True)
        optimizer_by_hand.apply([sum(of_batches) / 3 for of_batches in found], variables)
    for one, two in zip(values(model), values(by_hand), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)
    averages = averaged_arrays(model, optimizer), averaged_arrays(by_hand, optimizer_by_hand)
    for one, two in zip(*(average.values() for average in averages), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)


@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_a_tied_embedding_has_the_gradients_of_all_its_uses(make_model: Callable, tie: str) -> None:
    """Those of its rows, which are told apart from the output layer's, and of that; a batch in parts."""
    model = make_model(tie=tie)
    step = TrainStep(model, built(keras.optimizers.SGD(0.1), model), 0.1)

    @tf.function(autograph=False)
    def both(*batch: tf.Tensor) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            mean = model.total_loss(*batch, 0.1) / tf.reduce_sum(tf.cast(batch[2] != PAD, tf.float32))
        plain = tape.gradient(mean, [variable.value for variable in model.trainable_variables])
        return step.gradients(step._loss, batch)[1], [tf.convert_to_tensor(gradient) for gradient in plain]

    for found, expected in zip(*both(*BATCH), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_without_averages_the_weights_are_what_is_saved(make_model: Callable) -> None:
    model = make_model()
    found = averaged_arrays(model, built(keras.optimizers.SGD(0.1), model))
    for one, two in zip(found.values(), values(model), strict=True):
        np.testing.assert_array_equal(one, two)


def test_dropout_is_on_in_training_steps_and_its_state_is_saved(make_model: Callable) -> None:
    model = make_model(dropout=DropoutConfig(embedding=0.5, encoder=0.0, state=0.0, context=0.0, readout=0.5))
    step = TrainStep(model, built(keras.optimizers.SGD(1e-9), model), 0.0)
    before = variables_to_arrays(model.variables)
    first, second = float(step(BATCH)), float(step(BATCH))
    assert abs(first - second) > 1e-3
    assign_arrays(model.variables, before, "test")
    assert [float(step(BATCH)), float(step(BATCH))] == pytest.approx([first, second], rel=1e-6)


def test_half_precision_scales_the_loss_and_skips_what_overflows(make_model: Callable) -> None:
    model, exact, rate = make_model(dtype="mixed_float16"), make_model(), 0.5
    TrainStep(exact, built(keras.optimizers.SGD(rate), exact), SMOOTHING)(BATCH)
    inner = keras.optimizers.SGD(rate, use_ema=True, ema_momentum=0.9)
    optimizer = built(keras.optimizers.LossScaleOptimizer(inner, initial_scale=2.0**40), model)
    step, before = TrainStep(model, optimizer, SMOOTHING), values(model)
    loss = float(step(BATCH))
    # Too large a scale: the gradient is infinite in float16, the step is left out and the scale halved.
    assert float(optimizer.dynamic_scale) == 2.0**39
    for one, two in zip(before, values(model), strict=True):
        np.testing.assert_array_equal(one, two)
    optimizer.dynamic_scale.assign(2.0**10)
    assert float(step(BATCH)) == pytest.approx(loss, rel=1e-6)
    assert loss == pytest.approx(float(loss_by_hand(make_model())), rel=1e-2)
    for old, one, two in zip(before, values(model), values(exact), strict=True):
        np.testing.assert_allclose(one, two, atol=0.02)
        assert np.abs(one - old).max() > 0
    # The average of the first step is its weights, though a step was left out before it.
    for one, two in zip(averaged_arrays(model, optimizer).values(), values(model), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)


@pytest.mark.parametrize(
    ("capability", "native_cpu", "seconds", "policy"),
    [
        (None, False, 0.1, "float32"),
        (None, True, 0.5, "mixed_bfloat16"),
        (None, True, 0.9, "float32"),  # it has the instructions and gains too little
        (None, True, 2.0, "float32"),
        ((9, 0), False, 2.0, "mixed_bfloat16"),
        ((8, 0), False, 2.0, "mixed_bfloat16"),
        ((7, 5), True, 0.5, "mixed_float16"),
    ],
)
def test_precision_follows_the_hardware(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int] | None, native_cpu: bool, seconds: float, policy: str
) -> None:
    """`seconds` is what a product takes in bfloat16; in float32 it takes one."""
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["gpu"] if capability else [])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda device: {"compute_capability": capability})
    flags = "flags : fpu avx512_bf16" if native_cpu else "flags : fpu avx2"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: flags)
    monkeypatch.setattr(
        precision, "_product_seconds", lambda *dtypes: [{"bfloat16": seconds}.get(d, 1.0) for d in dtypes]
    )
    assert decide_precision("auto") == policy
    assert decide_precision("float32") == "float32"
    assert decide_precision("mixed_float16") == "mixed_float16"


def test_products_are_tried_in_each_type() -> None:
    assert all(0 < seconds < 30 for seconds in precision._product_seconds("float32", "bfloat16"))


def test_precision_without_processor_flags_is_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    monkeypatch.setattr(Path, "read_text", missing)
    assert decide_precision("auto") == "float32"


def test_one_trace_serves_all_shapes() -> None:
    traces = []

    def double(values: Any, other: Any) -> Any:
        traces.append(None)
        return 2 * values + keras.ops.sum(other)

    compiled = compile_function(double)
    random = np.random.default_rng(0)
    for rows, columns in random.integers(1, 30, (20, 2)):
        array = random.normal(size=(rows, columns)).astype(np.float32)
        np.testing.assert_allclose(compiled(array, array[0]), 2 * array + array[0].sum(), rtol=1e-4, atol=1e-4)
    assert len(traces) == 1


def test_weights_are_read_once_a_call_and_not_in_a_loop() -> None:
    weight, bodies = keras.Variable(2.0), []

    def multiply(n: Any, value: Any) -> Any:
        bodies.append(tf.compat.v1.get_default_graph())
        return n + 1, value * weight

    def powers(start: Any) -> Any:
        with snapshot([weight]):
            return keras.ops.while_loop(lambda n, _: n < 3, multiply, (0, start))[1]

    traced = tf.function(powers).get_concrete_function(tf.TensorSpec([], tf.float32))
    assert traced(tf.constant(1.0)) == 8
    weight.assign(3.0)
    assert traced(tf.constant(1.0)) == 27
    loop = {operation.type for operation in bodies[0].get_operations()}
    assert "Mul" in loop
    assert "ReadVariableOp" not in loop


WITHOUT_GPU = {"CUDA_VISIBLE_DEVICES": "-1"}
"""In the environment: as if there were none."""


@pytest.mark.parametrize("begun", [False, True])
def test_batches_go_side_by_side_where_operations_take_a_thread_each(begun: bool) -> None:
    """In a process of its own, since threads are TensorFlow's for good once it has computed."""
    program = f"""
import os, keras
from nmt.backend.machine import batches_at_once, configure_runtime
if {begun}:
    keras.ops.ones(1)
print(batches_at_once())
configure_runtime()
print(batches_at_once())
"""
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", **WITHOUT_GPU, "TF_NUM_INTRAOP_THREADS": ""}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    before, after = map(int, ran.stdout.split())
    assert before == 1
    assert (after == 1) == (begun or processors() == 1)
    assert after <= AT_ONCE


@pytest.mark.parametrize("configured", [False, True])
def test_tensorflow_keeps_its_memory_itself(configured: bool) -> None:
    """Which shows where its own limit, set by the user, is obeyed. In a process of its own, as above."""
    program = f"""
import tensorflow as tf
from nmt.backend.machine import configure_runtime
if {configured}:
    configure_runtime()
try:
    tf.zeros([64, 2**20])
    print("fits")
except tf.errors.ResourceExhaustedError:
    print("does not fit")
"""
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", **WITHOUT_GPU, "TF_CPU_BFC_MEM_LIMIT_IN_MB": "100"}
    environment.pop("TF_CPU_ALLOCATOR_USE_BFC", None)  # other tests have configured this process
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert ran.stdout.strip() == ("does not fit" if configured else "fits")


@pytest.mark.parametrize("configured", [False, True])
def test_a_program_of_a_shape_is_written_once(configured: bool) -> None:
    """Of more shapes than oneDNN would keep, in the order in which it forgets them; it tells what it finds again."""
    program = f"""
import tensorflow as tf
from nmt.backend.machine import configure_runtime
if {configured}:
    configure_runtime()
rows, kernel = tf.ones([1100, 8], "bfloat16"), tf.ones([8, 8], "bfloat16")
for _ in range(2):
    print("begin", flush=True)
    for count in range(1, 1101):
        tf.matmul(rows[:count], kernel)
"""
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", **WITHOUT_GPU, "ONEDNN_VERBOSE": "profile_create"}
    environment.pop("ONEDNN_PRIMITIVE_CACHE_CAPACITY", None)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    _, first, second = ran.stdout.split("begin")
    if "cache_miss" not in first:
        pytest.skip("oneDNN does not multiply bfloat16 for this TensorFlow")
    assert ("cache_miss" in second) != configured


def test_beside_a_gpu_threads_are_not_shared_and_batches_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    shared: list[int] = []
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
    monkeypatch.setattr(tf.config.threading, "set_intra_op_parallelism_threads", shared.append)
    monkeypatch.setattr(tf.config.threading, "get_intra_op_parallelism_threads", lambda: 1)
    monkeypatch.setattr("nmt.backend.machine.processors", lambda: 4)
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind])
    configure_runtime()
    assert (shared, batches_at_once()) == ([], 1)
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    configure_runtime()
    assert (shared, batches_at_once()) == ([1], 4)


def test_another_backend_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keras.backend.backend", lambda: "torch")
    with pytest.raises(BackendError, match="the Keras backend is torch: expected tensorflow or jax"):
        compile_function(len)


def test_a_seed_decides_what_is_drawn() -> None:
    def draw(seed: int) -> tuple[np.ndarray, float]:
        set_determinism(seed, deterministic=False)
        return np.asarray(keras.random.normal((4,))), float(np.random.random())

    np.testing.assert_array_equal(draw(3)[0], draw(3)[0])
    assert draw(3)[1] == draw(3)[1]
    assert np.abs(draw(3)[0] - draw(4)[0]).max() > 1e-3


def read_events(directory: Path) -> list[tuple[int, Any]]:
    from tensorflow.core.util.event_pb2 import Event

    (file,) = directory.glob("events.out.tfevents.*")
    events = [Event.FromString(record.numpy()) for record in tf.data.TFRecordDataset([str(file)])]
    return [(event.step, value) for event in events for value in event.summary.value]


def test_event_files_hold_scalars_and_images(tmp_path: Path) -> None:
    writer = EventWriter(tmp_path)
    pixels = np.random.default_rng(0).integers(0, 255, (3, 5, 3), np.uint8)
    writer.scalars(10, {"loss": 1.5, "bleu": 20.25})
    writer.scalars(20, {"loss": 0.5})
    writer.image(20, "alignment", pixels)
    events = read_events(tmp_path)
    scalars = [(step, v.tag, float(tf.make_ndarray(v.tensor))) for step, v in events[:3]]
    assert scalars == [(10, "loss", 1.5), (10, "bleu", 20.25), (20, "loss", 0.5)]
    assert {v.metadata.plugin_data.plugin_name for _, v in events[:3]} == {"scalars"}
    ((step, image),) = events[3:]
    assert (step, image.tag, image.metadata.plugin_data.plugin_name) == (20, "alignment", "images")
    width, height, png = tf.make_ndarray(image.tensor).tolist()
    assert (width, height) == (b"5", b"3")
    np.testing.assert_array_equal(tf.io.decode_png(png), pixels)


def test_memory_is_told_in_mebibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has loaded TensorFlow holds hundreds of them, and not a million."""
    assert 100 < peak_memory() < 1_000_000
    monkeypatch.setattr("resource.getrusage", lambda who: SimpleNamespace(ru_maxrss=300 << 20))
    monkeypatch.setattr("sys.platform", "linux")
    assert peak_memory() == 300 << 10  # told in KiB
    monkeypatch.setattr("sys.platform", "darwin")
    assert peak_memory() == 300  # told in bytes


LINKS = np.zeros((2, 3, 4), np.float32)
LINKS[0, 0, 1] = LINKS[1, 0, 0] = 1
LINKS[0, 1, [0, 2]] = 0.5


@pytest.mark.parametrize("count", [2, 3, 5])
def test_parts_of_a_batch_are_its_sentences_without_padding_that_they_do_not_need(count: int) -> None:
    lengths = np.array([[6, 3], [5, 5], [2, 5], [2, 1]])
    sides = [np.where(np.arange(7) < side[:, None], np.arange(4, 11), PAD) for side in lengths.T]
    links = np.random.default_rng(0).random((4, 7, 7)) * (sides[1] > 0)[:, :, None] * (sides[0] > 0)[:, None]
    found = split_batch([sides[0], sides[1], sides[1], links, 0.5], count)
    assert len(found) == count
    rows = iter(range(4))
    for source, target_in, target_out, linked, weight in found:
        mine = [row for _, row in zip(source, rows)]  # noqa: B905  as many as there are
        longest = lengths[mine].max(axis=0, initial=1)
        assert (source.shape[1], target_out.shape[1]) == tuple(longest)
        assert target_in.shape == target_out.shape
        assert linked.shape == (len(mine), longest[1], longest[0])
        assert weight == 0.5
        np.testing.assert_allclose(linked.sum(), links[mine].sum())
        assert [(s > 0).sum() for s in source] == lengths[mine, 0].tolist()
    assert next(rows, None) is None


@pytest.mark.usefixtures("parts")
def test_a_guided_step_is_the_gradient_of_both_losses(make_model: Callable) -> None:
    """Three steps have links; the attention's loss is their mean, and counts 0.7 times."""
    model, rate, weight = make_model(), 0.5, 0.7
    with tf.GradientTape() as tape:
        translation = loss_by_hand(model)
        _, paid = model(BATCH.source, BATCH.target_in)
        attention = (
            -(
                tf.math.log(paid[0, 0, 1])
                + tf.math.log(paid[1, 0, 0])
                + (tf.math.log(paid[0, 1, 0]) + tf.math.log(paid[0, 1, 2])) / 2
            )
            / 3
        )
        loss = translation + weight * attention
    gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
    expected = [v - rate * np.array(tf.convert_to_tensor(g)) for v, g in zip(values(model), gradients, strict=True)]
    step = TrainStep(model, built(keras.optimizers.SGD(rate), model), SMOOTHING)
    found = [float(loss) for loss in step.guided(GuidedBatch(*BATCH, LINKS), weight)]
    assert found == pytest.approx([float(translation), float(attention)], rel=1e-5)
    for found, wanted in zip(values(model), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_a_batch_without_links_is_a_plain_step(make_model: Callable) -> None:
    plain, guided = make_model(), make_model()
    step = TrainStep(guided, built(keras.optimizers.SGD(0.5), guided), SMOOTHING)
    loss = TrainStep(plain, built(keras.optimizers.SGD(0.5), plain), SMOOTHING)(BATCH)
    found = [float(loss) for loss in step.guided(GuidedBatch(*BATCH, 0 * LINKS), 1.0)]
    assert found == pytest.approx([float(loss), 0.0], rel=1e-5)
    for one, two in zip(values(plain), values(guided), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)


def test_before_the_first_update_the_weights_are_their_average(make_model: Callable) -> None:
    """There is none before as many batches as go into an update; its place is held by zeros."""
    model = make_model()
    optimizer = built(Adam(0.05, gradient_accumulation_steps=2, use_ema=True, ema_momentum=0.9), model)
    step = TrainStep(model, optimizer, 0.0)
    step(BATCH)
    for one, two in zip(averaged_arrays(model, optimizer).values(), values(model), strict=True):
        np.testing.assert_array_equal(one, two)
    step(BATCH)
    assert any(np.any(one) for one in averaged_arrays(model, optimizer).values())


def test_an_event_file_that_cannot_be_written_is_an_error_of_writing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Input/output error") as caught:
        EventWriter(tmp_path / "file" / "tensorboard").scalars(1, {"loss": 1.0})
    assert caught.value.filename == str(tmp_path / "file" / "tensorboard")
