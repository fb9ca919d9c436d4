"""The losses: values and gradients against derivations on paper, with padding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from nmt.network.losses.guided_alignment import guided_alignment_losses
from nmt.network.losses.label_smoothing import count_tokens, token_losses
from nmt.network.losses.output_loss import output_loss, slices_for
from nmt.text.pieces import PAD

LN2 = math.log(2)
LOGITS = np.log([[[0.5, 0.25, 0.125, 0.125], [0.125, 0.125, 0.25, 0.5], [0.97, 0.01, 0.01, 0.01]]])
TARGETS = np.array([[1, 3, PAD]])


@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_cross_entropy_of_known_probabilities(shift: float) -> None:
    """The right pieces have probabilities 1/4 and 1/2: 2 bits and 1 bit. The third target is padding."""
    np.testing.assert_allclose(token_losses(LOGITS + shift, TARGETS), [[2 * LN2, LN2, 0.0]], rtol=1e-5)


def test_label_smoothing_of_known_probabilities() -> None:
    """0.8 times the loss of the right piece plus 0.2 times the mean loss, (1 + 2 + 3 + 3) / 4 = 2.25 bits."""
    expected = [[(0.8 * 2 + 0.2 * 2.25) * LN2, (0.8 * 1 + 0.2 * 2.25) * LN2, 0.0]]
    np.testing.assert_allclose(token_losses(LOGITS, TARGETS, 0.2), expected, rtol=1e-5)


def test_half_precision_logits_are_computed_in_float32() -> None:
    logits = tf.cast(tf.constant([[30.0, 20.0, 10.0, 0.0]]), tf.bfloat16)
    losses = token_losses(logits, np.array([2]), 0.1)
    assert losses.dtype == tf.float32
    np.testing.assert_allclose(losses, [0.9 * 20 + 0.1 * (0 + 10 + 20 + 30) / 4], rtol=1e-3)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_the_gradient_by_the_logits_is_softmax_minus_smoothed_target(smoothing: float) -> None:
    random = np.random.default_rng(1)
    logits = tf.constant(random.normal(size=(2, 4, 6)), tf.float32)
    targets = np.array([[3, 1, 5, PAD], [2, PAD, PAD, PAD]])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        total = tf.reduce_sum(token_losses(logits, targets, smoothing))
    softmax = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    smoothed = (1 - smoothing) * np.eye(6)[targets] + smoothing / 6
    expected = np.where((targets == PAD)[..., None], 0.0, softmax - smoothed)
    np.testing.assert_allclose(tape.gradient(total, logits), expected, atol=1e-6)


def test_the_loss_of_padding_is_zero_for_all_logits() -> None:
    logits = tf.constant([[[1.0, 2.0, 3.0], [-1e30, 1e30, 0.0]]])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        losses = token_losses(logits, np.array([[2, PAD]]), 0.1)
    gradient = tape.gradient(losses, logits).numpy()
    assert losses.numpy()[0, 1] == 0
    assert not gradient[0, 1].any()


def test_padding_is_not_counted_as_tokens() -> None:
    assert float(count_tokens(TARGETS)) == 2
    assert float(count_tokens(np.array([[PAD, PAD]]))) == 1


def output_layer(dtype: str = "float32") -> tuple[Any, Any, Any, np.ndarray]:
    """Read-outs, kernel, bias and targets of seven tokens over nine pieces; two targets are padding."""
    random = np.random.default_rng(4)
    readout, kernel, bias = (tf.constant(random.normal(size=shape), tf.float32) for shape in ((7, 4), (9, 4), (9,)))
    return tf.cast(readout, dtype), kernel, bias, np.array([3, 8, PAD, 1, 3, 4, PAD], np.int32)


def with_gradients(loss: Callable[..., Any], *tensors: Any) -> list[np.ndarray]:
    """The loss, and three times its gradients."""
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        total = loss(*tensors)
    gradients = tape.gradient(total, tensors, tf.constant(3.0, total.dtype))
    return [np.asarray(tf.cast(tensor, tf.float32)) for tensor in (total, *gradients)]


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("slices", [1, 2, 3, 7, 9])
def test_the_output_loss_equals_the_plain_loss_for_any_number_of_slices(smoothing: float, slices: int) -> None:
    """With seven tokens in two, three or nine slices, the last slices are short or empty."""
    *tensors, targets = output_layer()

    def plain(readout: Any, kernel: Any, bias: Any) -> Any:
        logits = tf.matmul(readout, kernel, transpose_b=True) + bias
        smoothed = (1 - smoothing) * tf.one_hot(targets, 9) + smoothing / 9
        losses = -tf.reduce_sum(smoothed * tf.nn.log_softmax(logits), axis=-1)
        return tf.reduce_sum(tf.where(targets == PAD, 0.0, losses))

    found = with_gradients(lambda *values: output_loss(*values, targets, smoothing, slices), *tensors)
    for ours, expected in zip(found, with_gradients(plain, *tensors), strict=True):
        np.testing.assert_allclose(ours, expected, atol=2e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("slices", [1, 3])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_half_precision_changes_loss_and_gradients_by_its_rounding_alone(
    dtype: str, slices: int, smoothing: float
) -> None:
    """The reference is double precision with the same read-outs: 300 tokens, a sixth of them padding, and 2,000 pieces.

    The gradient by the logits of a token sums to zero, so the gradient by the bias does too.
    """
    random = np.random.default_rng(0)
    readout, kernel, bias = (
        random.normal(size=shape).astype(np.float32) * scale
        for shape, scale in (((300, 64), 1.0), ((2000, 64), 0.125), ((2000,), 1.0))
    )
    targets = random.integers(1, 2000, 300).astype(np.int32)
    targets[:60], targets[250:] = 5, PAD
    half = tf.cast(readout, dtype)
    tensors = half, tf.constant(kernel), tf.constant(bias)
    found = with_gradients(lambda *values: output_loss(*values, targets, smoothing, slices), *tensors)

    def plain(readout: Any, kernel: Any, bias: Any) -> Any:
        log_softmax = tf.nn.log_softmax(tf.matmul(readout, kernel, transpose_b=True) + bias)
        smoothed = (1 - smoothing) * tf.one_hot(targets, 2000, dtype=tf.float64) + smoothing / 2000
        losses = -tf.reduce_sum(smoothed * log_softmax, axis=-1)
        return tf.reduce_sum(tf.where(targets == PAD, tf.zeros_like(losses), losses))

    exact = with_gradients(plain, *(tf.cast(tensor, tf.float64) for tensor in tensors))
    rounding = {"bfloat16": 2.0**-8, "float16": 2.0**-11}[dtype]
    for ours, expected in zip(found, exact, strict=True):
        assert np.linalg.norm(ours - expected) < 1.5 * rounding * np.linalg.norm(expected)
    assert abs(found[3].sum()) < rounding * np.abs(found[3]).sum()


def test_half_precision_gives_very_small_and_very_large_losses() -> None:
    """float16 rounds probabilities below 2^-24 to zero and has few digits below 2^-14."""
    kernel, bias = tf.zeros((3, 1)), tf.constant([0.0, 0.0, 16.5])
    readout = tf.zeros((1, 1), tf.float16)
    for piece, loss in ((1, 16.5), (2, 0.0)):
        assert float(output_loss(readout, kernel, bias, np.array([piece], np.int32))) == pytest.approx(loss, abs=2e-3)


def test_only_large_batches_are_cut_into_slices() -> None:
    """4,096 tokens x 8,000 pieces are less than 2^25 logits; 4,096 tokens x 32,000 pieces are 15.6 times 2^23."""
    assert slices_for(1200, 8000) == 1
    assert slices_for(4096, 8000) == 1
    assert slices_for(4096, 32000) == 16


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_improbable_pieces_have_finite_losses(scale: float) -> None:
    logits = tf.constant([[0.0, scale, -scale]])
    expected = [2 * scale + np.log1p(np.exp(-scale) + np.exp(-2 * scale))]
    np.testing.assert_allclose(token_losses(logits, np.array([2])), expected, rtol=1e-6)


def test_guided_alignment_losses_of_known_weights() -> None:
    """A link to weight 1/4 costs 2 bits, links to 1/2 and 1/4 cost (1 + 2) / 2 bits, a step without links costs 0."""
    weights = np.array([[[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.0, 0.0, 0.0]]], np.float32)
    links = np.array([[[0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]], np.float32)
    np.testing.assert_allclose(guided_alignment_losses(weights, links), [[2 * LN2, 1.5 * LN2, 0.0]], rtol=1e-6)


def test_the_gradient_by_the_energies_is_attention_minus_links() -> None:
    random = np.random.default_rng(2)
    energies = tf.constant(random.normal(size=(2, 3, 4)), tf.float32)
    links = random.dirichlet(np.ones(4), (2, 3)).astype(np.float32)
    links[1, 2] = 0  # a step without a link
    with tf.GradientTape() as tape:
        tape.watch(energies)
        weights = tf.nn.softmax(energies)
        total = tf.reduce_sum(guided_alignment_losses(weights, links))
    expected = np.where(links.sum(axis=-1, keepdims=True) > 0, weights.numpy() - links, 0.0)
    np.testing.assert_allclose(tape.gradient(total, energies), expected, atol=1e-6)


def test_a_link_to_zero_attention_has_a_finite_loss_and_gradient() -> None:
    energies = tf.constant([[0.0, 500.0]])
    with tf.GradientTape() as tape:
        tape.watch(energies)
        loss = guided_alignment_losses(tf.nn.softmax(energies), np.array([[1.0, 0.0]], np.float32))
    assert float(loss[0]) == pytest.approx(-math.log(1e-20), rel=1e-5)
    assert np.isfinite(tape.gradient(loss, energies)).all()
