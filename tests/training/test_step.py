"""The training step against a loss and an update written out here; loss scaling, accumulation, moving averages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nmt.batches.arrays import Batch, GuidedBatch
from nmt.config import DropoutConfig
from nmt.network.weights import assign_arrays, variables_to_arrays
from nmt.text.pieces import BOS, EOS, PAD
from nmt.training.averaging import averaged_arrays
from nmt.training.batch_parts import split_batch
from nmt.training.optimizer import Adam
from nmt.training.step import TrainStep

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


def reference_loss(model: Any) -> Any:
    """Label-smoothed cross-entropy over one-hot targets, divided by the five real tokens."""
    logits, _ = model(BATCH.source, BATCH.target_in)
    smoothed = (1 - SMOOTHING) * tf.one_hot(BATCH.target_out, 12) + SMOOTHING / 12
    losses = -tf.reduce_sum(smoothed * tf.nn.log_softmax(logits), axis=-1)
    return tf.reduce_sum(tf.where(BATCH.target_out == PAD, 0.0, losses)) / 5


@pytest.fixture(params=[1, pytest.param(3, marks=pytest.mark.slow)], ids="in {} parts".format)
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of parts of a batch; of three parts of two sentences, one is empty."""
    monkeypatch.setattr("nmt.training.step.batches_at_once", lambda: request.param)
    return int(request.param)


def test_a_step_subtracts_the_gradient_of_the_mean_loss_of_the_real_tokens(make_model: Callable, parts: int) -> None:
    model, rate = make_model(), 0.5
    with tf.GradientTape() as tape:
        loss = reference_loss(model)
    gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
    expected = [v - rate * np.array(tf.convert_to_tensor(g)) for v, g in zip(values(model), gradients, strict=True)]
    step = TrainStep(model, built(keras.optimizers.SGD(rate), model), SMOOTHING, slices=4)
    assert step.slices == {1: 4, 3: 2}[parts]
    assert float(step(BATCH)) == pytest.approx(float(loss), rel=1e-5)
    for found, expected_value in zip(values(model), expected, strict=True):
        np.testing.assert_allclose(found, expected_value, atol=1e-5)


def test_steps_lower_the_loss_and_keep_averages(make_model: Callable) -> None:
    """The weights of every eighth step enter the average: avg_0 = w_1, then avg_n = d avg_(n-1) + (1 - d) w_(8n+1) with
    d = min(0.95^8, n / (n + 19)). Averaging does not change the weights."""
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


def test_adam_equals_keras_adam(make_model: Callable) -> None:
    """With clipping, a schedule, and untied embeddings, which have sparse gradients."""

    def trained(kind: type[keras.optimizers.Adam]) -> list[np.ndarray]:
        model = make_model(tie="none")
        schedule = keras.optimizers.schedules.CosineDecay(0.05, 10)
        step = TrainStep(model, built(kind(schedule, global_clipnorm=0.5, epsilon=1e-4), model), 0.1)
        for _ in range(6):
            step(BATCH)
        return values(model)

    for ours, theirs in zip(trained(Adam), trained(keras.optimizers.Adam), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)


@pytest.mark.slow
def test_accumulated_gradients_are_averaged_for_one_update(make_model: Callable) -> None:
    """Two updates of three batches each: the mean gradient is clipped, and the moving average takes one step."""
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
    reference = make_model()
    reference_optimizer = built(Adam(0.05, **how), reference)
    variables = reference.trainable_variables

    @tf.function(autograph=False)
    def gradients(*batch: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            mean = reference.total_loss(*batch, 0.0) / tf.reduce_sum(tf.cast(batch[2] != PAD, tf.float32))
        return [tf.convert_to_tensor(gradient) for gradient in tape.gradient(mean, [v.value for v in variables])]

    for group in (batches[:3], batches[3:]):
        found = zip(*(gradients(*batch) for batch in group), strict=True)
        reference_optimizer.apply([sum(of_batches) / 3 for of_batches in found], variables)
    for one, two in zip(values(model), values(reference), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)
    averages = averaged_arrays(model, optimizer), averaged_arrays(reference, reference_optimizer)
    for one, two in zip(*(average.values() for average in averages), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("tie", [*(pytest.param(tie, marks=pytest.mark.slow) for tie in ("none", "target")), "all"])
def test_a_tied_embedding_has_the_gradients_of_all_its_uses(make_model: Callable, tie: str) -> None:
    """The gradient of its lookups and the gradient of the output layer are computed apart and added."""
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


def test_without_averages_the_weights_are_saved(make_model: Callable) -> None:
    model = make_model()
    found = averaged_arrays(model, built(keras.optimizers.SGD(0.1), model))
    for one, two in zip(found.values(), values(model), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_step_applies_dropout_and_its_random_state_can_be_saved(make_model: Callable) -> None:
    model = make_model(dropout=DropoutConfig(embedding=0.5, encoder=0.0, state=0.0, context=0.0, readout=0.5))
    step = TrainStep(model, built(keras.optimizers.SGD(1e-9), model), 0.0)
    before = variables_to_arrays(model.variables)
    first, second = float(step(BATCH)), float(step(BATCH))
    assert abs(first - second) > 1e-3
    assign_arrays(model.variables, before, "test")
    assert [float(step(BATCH)), float(step(BATCH))] == pytest.approx([first, second], rel=1e-6)


@pytest.mark.slow
def test_half_precision_scales_the_loss_and_skips_updates_that_overflow(make_model: Callable) -> None:
    model, exact, rate = make_model(dtype="mixed_float16"), make_model(), 0.5
    TrainStep(exact, built(keras.optimizers.SGD(rate), exact), SMOOTHING)(BATCH)
    inner = keras.optimizers.SGD(rate, use_ema=True, ema_momentum=0.9)
    optimizer = built(keras.optimizers.LossScaleOptimizer(inner, initial_scale=2.0**40), model)
    step, before = TrainStep(model, optimizer, SMOOTHING), values(model)
    loss = float(step(BATCH))
    # The scale is too large: the gradient is infinite in float16, so the update is skipped and the scale halved.
    assert float(optimizer.dynamic_scale) == 2.0**39
    for one, two in zip(before, values(model), strict=True):
        np.testing.assert_array_equal(one, two)
    optimizer.dynamic_scale.assign(2.0**10)
    assert float(step(BATCH)) == pytest.approx(loss, rel=1e-6)
    assert loss == pytest.approx(float(reference_loss(make_model())), rel=1e-2)
    for old, one, two in zip(before, values(model), values(exact), strict=True):
        np.testing.assert_allclose(one, two, atol=0.02)
        assert np.abs(one - old).max() > 0
    # The first update makes the average equal to the weights, although an update was skipped before it.
    for one, two in zip(averaged_arrays(model, optimizer).values(), values(model), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)


LINKS = np.zeros((2, 3, 4), np.float32)
LINKS[0, 0, 1] = LINKS[1, 0, 0] = 1
LINKS[0, 1, [0, 2]] = 0.5


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_part_has_its_sentences_without_superfluous_padding(count: int) -> None:
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
def test_a_guided_step_subtracts_the_gradient_of_both_losses(make_model: Callable) -> None:
    """Three steps have links; the attention loss is their mean and has the weight 0.7."""
    model, rate, weight = make_model(), 0.5, 0.7
    with tf.GradientTape() as tape:
        translation = reference_loss(model)
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
    for found, expected_value in zip(values(model), expected, strict=True):
        np.testing.assert_allclose(found, expected_value, atol=1e-5)


@pytest.mark.slow
def test_a_guided_step_without_links_is_a_plain_step(make_model: Callable) -> None:
    plain, guided = make_model(), make_model()
    step = TrainStep(guided, built(keras.optimizers.SGD(0.5), guided), SMOOTHING)
    loss = TrainStep(plain, built(keras.optimizers.SGD(0.5), plain), SMOOTHING)(BATCH)
    found = [float(loss) for loss in step.guided(GuidedBatch(*BATCH, 0 * LINKS), 1.0)]
    assert found == pytest.approx([float(loss), 0.0], rel=1e-5)
    for one, two in zip(values(plain), values(guided), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)


def test_before_the_first_update_the_average_is_the_weights(make_model: Callable) -> None:
    """With accumulation the first batch updates nothing, and the optimizer's averages are still zero."""
    model = make_model()
    optimizer = built(Adam(0.05, gradient_accumulation_steps=2, use_ema=True, ema_momentum=0.9), model)
    step = TrainStep(model, optimizer, 0.0)
    step(BATCH)
    for one, two in zip(averaged_arrays(model, optimizer).values(), values(model), strict=True):
        np.testing.assert_array_equal(one, two)
    step(BATCH)
    assert any(np.any(one) for one in averaged_arrays(model, optimizer).values())
