"""The output layer fused with its loss, so that the logits of a whole batch need not be in memory at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.gather_scatter import gather, scatter_add
from nmt.backend.loops import sequential_while_loop
from nmt.network.losses.label_smoothing import losses_from_softmax
from nmt.text.pieces import PAD

MOST_LOGITS_IN_SLICE = 2**23
"""Greatest number of logits in one of several slices: 32 MiB in float32. Intermediate results take a few times that,
for each part of a batch that is computed in parallel."""

MOST_LOGITS_WITHOUT_SLICES = 2**25
"""Greatest number of logits of a batch that stays in one slice, all its parallel parts together."""

BIAS_COLUMNS = {"float32": 8}
"""Columns that are appended to the output kernel, by compute type: the bias and zeros. The default is 32, because
processors that multiply bfloat16 multiply 32 columns at once."""

BIAS_COLUMNS_DEFAULT = 32


def slices_for(tokens: int, vocabulary: int) -> int:
    """Number of slices in which `output_loss` should process this many tokens to limit its memory."""
    logits = tokens * vocabulary
    return 1 if logits <= MOST_LOGITS_WITHOUT_SLICES else -(-logits // MOST_LOGITS_IN_SLICE)


def output_loss(
    readout: Tensor, kernel: Tensor, bias: Tensor, targets: Tensor, smoothing: float = 0.0, slices: int = 1
) -> Tensor:
    """Sum of `token_losses` over the logits readout @ kernel^T + bias, computed for one slice of the tokens at a time.

    With one slice, only the softmax is saved for the backward pass. With several slices nothing is saved, because the
    gradients of a slice are computed together with its loss. Peak memory grows with tokens x vocabulary / slices.
    Tensors as large as the logits have the type of `readout`, all others are float32.

    Args:
        readout: [tokens, width].
        kernel: float32 [vocabulary, width].
        bias: float32 [vocabulary].
        targets: right pieces, integer [tokens].
        smoothing: as in `token_losses`.
        slices: number of slices, of equal size.

    Returns:
        float32 scalar, in nats. It has a first derivative by readout, kernel and bias, and no second derivative.
    """

    def forward(readout: Tensor, kernel: Tensor, bias: Tensor) -> tuple[Tensor, Any]:
        loss, gradients = _loss_and_gradients(readout, kernel, bias, targets, smoothing, slices)

        def gradient(upstream: Tensor) -> tuple[Tensor, ...]:
            return tuple(
                ops.cast(value, like.dtype)
                for value, like in zip(gradients(upstream), (readout, kernel, bias), strict=True)
            )

        return loss, gradient

    return ops.custom_gradient(forward)(readout, kernel, bias)


class _Gradients(NamedTuple):
    """Gradients of the summed loss, float32, each in the shape of its variable."""

    readout: Tensor
    kernel: Tensor
    bias: Tensor


_GradientFunction = Callable[[Tensor], _Gradients]
"""Function from the upstream gradient, a scalar, to the gradients of a loss."""


def _loss_and_gradients(
    readout: Tensor, kernel: Tensor, bias: Tensor, targets: Tensor, smoothing: float, slices: int
) -> tuple[Tensor, _GradientFunction]:
    """Sum of the losses and its gradients, one slice after the other."""
    cast = ops.cast(kernel, readout.dtype)
    # The bias becomes a column of the kernel: adding it to the logits would take another sweep over them.
    columns = BIAS_COLUMNS.get(keras.backend.standardize_dtype(readout.dtype), BIAS_COLUMNS_DEFAULT)
    bias_columns = ops.pad(ops.cast(bias, readout.dtype)[:, None], ((0, 0), (0, columns - 1)))
    with_bias = ops.concatenate([cast, bias_columns], axis=1)
    if slices == 1:
        return _slice_loss(readout, cast, with_bias, bias, targets, smoothing)
    tokens, rows = ops.shape(readout)[0], -(-ops.shape(readout)[0] // slices)
    missing = rows * slices - tokens  # rows of padding in the last slice
    readouts = ops.reshape(ops.pad(readout, ((0, missing), (0, 0))), (slices, rows, readout.shape[-1]))
    targets = ops.reshape(ops.pad(targets, ((0, missing),), constant_values=PAD), (slices, rows))

    def body(index: Tensor, loss: Tensor, *gradients: Tensor) -> tuple[Tensor, ...]:
        part, gradients_of = _slice_loss(readouts[index], cast, with_bias, bias, targets[index], smoothing)
        (by_readout, by_kernel, by_bias), found = gradients, gradients_of(ops.ones(()))
        by_readout = ops.slice_update(by_readout, (index, 0, 0), found.readout[None])
        return index + 1, loss + part, by_readout, by_kernel + found.kernel, by_bias + found.bias

    zeros = (ops.zeros((slices, rows, readout.shape[-1])), ops.zeros_like(kernel), ops.zeros_like(bias))
    start = (ops.zeros((), "int32"), ops.zeros(()), *zeros)
    _, loss, by_readout, *rest = sequential_while_loop(lambda index, *_: index < slices, body, start)
    summed = ops.reshape(by_readout, (-1, readout.shape[-1]))[:tokens], *rest
    return loss, lambda upstream: _Gradients(*(upstream * gradient for gradient in summed))


def _slice_loss(
    readout: Tensor, kernel: Tensor, with_bias: Tensor, bias: Tensor, targets: Tensor, smoothing: float
) -> tuple[Tensor, _GradientFunction]:
    """Loss of the read-outs of one slice, [rows, width], and its gradients.

    The gradient by the logits is softmax - smoothed target, [rows, vocabulary]. Sweeps over a tensor of this size cost
    the time, so only the softmax is formed, in the compute type. The two parts of the smoothed target enter the
    products with it as follows.

    The right piece's part is subtracted from the gradients as rows of the kernel and of the read-outs. The even part
    comes from one extra row of zero logits, whose softmax is even: its factor in the products is minus `smoothing`
    times the sum of all other factors. Padding and the upstream gradient are applied to the factors, which are small.

    Args:
        kernel: [vocabulary, width], in the compute type.
        with_bias: the kernel with `BIAS_COLUMNS` appended, in the compute type.
    """
    dtype, (pieces, width) = readout.dtype, kernel.shape
    with_ones = ops.pad(readout, ((0, 0), (0, with_bias.shape[1] - width)), constant_values=1)
    logits = ops.matmul(ops.pad(with_ones, ((0, 1), (0, 0))), ops.transpose(with_bias))
    probabilities = ops.softmax(logits, axis=-1)
    real = ops.cast(targets != PAD, "float32")
    # The mean of the kernel's rows as a product, because TensorFlow sums so many rows slowly.
    mean_row = ops.cast(ops.matmul(ops.ones((1, pieces), dtype), kernel)[0], "float32") / pieces
    mean_logit = ops.matmul(ops.cast(readout, "float32"), mean_row) + ops.mean(bias)
    losses = losses_from_softmax(logits[:-1], probabilities[:-1], targets, smoothing, mean_logit)

    def gradients(upstream: Tensor) -> _Gradients:
        weight = (real * upstream)[:, None]
        weighted = ops.cast(readout, "float32") * weight

        def with_even_row(factors: Tensor) -> Tensor:
            return ops.cast(ops.concatenate([factors, -smoothing * ops.sum(factors, axis=0, keepdims=True)]), dtype)

        by_readout = ops.cast(ops.matmul(probabilities, kernel), "float32")
        right = (1 - smoothing) * ops.cast(gather(kernel, targets), "float32")
        by_readout = (by_readout[:-1] - right - smoothing * by_readout[-1]) * weight
        by_kernel = ops.cast(ops.matmul(ops.transpose(probabilities), with_even_row(weighted)), "float32")
        by_bias = ops.cast(ops.matmul(ops.transpose(with_even_row(weight)), probabilities), "float32")
        return _Gradients(
            by_readout,
            scatter_add(by_kernel, targets, (smoothing - 1) * weighted),
            scatter_add(by_bias[0][:, None], targets, (smoothing - 1) * weight)[:, 0],
        )

    return ops.sum(ops.where(targets != PAD, losses, 0.0)), gradients
