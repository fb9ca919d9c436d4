"""Label-smoothed cross-entropy over real tokens, and the loss of guided alignment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.gather_scatter import gather, scatter_add
from nmt.backend.loops import sequential_while_loop
from nmt.network.losses.label_smoothing import cross_entropy_from_softmax
from nmt.text.pieces import PAD

LOGITS_AT_ONCE = 2**23
"""Most logits of a slice, where a batch's are taken in slices: 32 MiB in float32, and a few times that in the work on
them, for each of the parts of a batch that are computed at once."""

LOGITS_IN_ONE = 2**25
"""Most logits of a batch that is not taken in slices, all its parts together."""

COLUMNS = {"float32": 8}
"""That stand beside the output layer's kernel, its bias and zeros, by the type that is multiplied; else 32, for
processors that multiply bfloat16 take so many at once."""


def slices_for(tokens: int, vocabulary: int) -> int:
    """In how many slices `output_loss` takes this many tokens, so that memory stays flat."""
    logits = tokens * vocabulary
    return 1 if logits <= LOGITS_IN_ONE else -(-logits // LOGITS_AT_ONCE)


def output_loss(
    readout: Tensor, kernel: Tensor, bias: Tensor, targets: Tensor, smoothing: float = 0.0, slices: int = 1
) -> Tensor:
    """Sum of `token_losses` of the logits readout @ kernel^T + bias, held for one slice of the tokens at a time.

    What is kept for the way back is the softmax alone; with several slices not even that, for the gradients of a slice
    are computed with its loss. Peak memory grows with tokens x vocabulary / slices. What is as large as the logits is
    in the type of `readout`, all else in float32.

    Args:
        readout: [tokens, width].
        kernel: float32 [vocabulary, width].
        bias: float32 [vocabulary].
        targets: integer [tokens].
        smoothing: as in `token_losses`.
        slices: number of slices, of equal size.

    Returns:
        float32 scalar, in nats; its gradient by all three tensors (once: there is no second derivative).
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
    """Of the summed loss, float32, shaped as what they are by."""

    readout: Tensor
    kernel: Tensor
    bias: Tensor


Gradients = Callable[[Tensor], _Gradients]
"""The gradients of a loss, from that by the loss itself, a scalar."""


def _loss_and_gradients(
    readout: Tensor, kernel: Tensor, bias: Tensor, targets: Tensor, smoothing: float, slices: int
) -> tuple[Tensor, Gradients]:
    """The sum of the losses and its gradients, slice after slice."""
    cast = ops.cast(kernel, readout.dtype)
    # The bias as one more column: as a sum it would go over all logits once more.
    columns = COLUMNS.get(keras.backend.standardize_dtype(readout.dtype), 32)
    bias_column = ops.pad(ops.cast(bias, readout.dtype)[:, None], ((0, 0), (0, columns - 1)))
    wide = ops.concatenate([cast, bias_column], axis=1)
    if slices == 1:
        return _slice(readout, cast, wide, bias, targets, smoothing)
    tokens, rows = ops.shape(readout)[0], -(-ops.shape(readout)[0] // slices)
    missing = rows * slices - tokens  # of the last slice
    readouts = ops.reshape(ops.pad(readout, ((0, missing), (0, 0))), (slices, rows, readout.shape[-1]))
    targets = ops.reshape(ops.pad(targets, ((0, missing),), constant_values=PAD), (slices, rows))

    def body(index: Tensor, loss: Tensor, *gradients: Tensor) -> tuple[Tensor, ...]:
        part, gradients_of = _slice(readouts[index], cast, wide, bias, targets[index], smoothing)
        (by_readout, by_kernel, by_bias), found = gradients, gradients_of(ops.ones(()))
        by_readout = ops.slice_update(by_readout, (index, 0, 0), found.readout[None])
        return index + 1, loss + part, by_readout, by_kernel + found.kernel, by_bias + found.bias

    zeros = (ops.zeros((slices, rows, readout.shape[-1])), ops.zeros_like(kernel), ops.zeros_like(bias))
    start = (ops.zeros((), "int32"), ops.zeros(()), *zeros)
    _, loss, by_readout, *rest = sequential_while_loop(lambda index, *_: index < slices, body, start)
    summed = ops.reshape(by_readout, (-1, readout.shape[-1]))[:tokens], *rest
    return loss, lambda upstream: _Gradients(*(upstream * gradient for gradient in summed))


def _slice(
    readout: Tensor, kernel: Tensor, wide: Tensor, bias: Tensor, targets: Tensor, smoothing: float
) -> tuple[Tensor, Gradients]:
    """Loss and gradients of [rows, width] read-outs.

    The gradient by the logits is softmax - smoothed target. Going over [rows, vocabulary] is what costs time, so the
    softmax alone does, in the type that is multiplied: its sums are in float32 inside. The right pieces' part of the
    target goes into the gradients as rows of the kernel and of the read-outs. Its even part is one row more: the
    softmax of zeros is even, and as a factor of it stands the sum of all others. All rows of the products count, so
    padding is taken out of the factors, and `upstream` goes in with it.
    """
    dtype, (pieces, width) = readout.dtype, kernel.shape
    ones = ops.pad(readout, ((0, 0), (0, wide.shape[1] - width)), constant_values=1)
    logits = ops.matmul(ops.pad(ones, ((0, 1), (0, 0))), ops.transpose(wide))
    probabilities = ops.softmax(logits, axis=-1)
    real = ops.cast(targets != PAD, "float32")
    # As a product: TensorFlow sums that many rows slowly.
    mean = ops.cast(ops.matmul(ops.ones((1, pieces), dtype), kernel)[0], "float32") / pieces
    mean_logit = ops.matmul(ops.cast(readout, "float32"), mean) + ops.mean(bias)
    losses = cross_entropy_from_softmax(logits[:-1], probabilities[:-1], targets, smoothing, mean_logit)

    def gradients(upstream: Tensor) -> _Gradients:
        share = (real * upstream)[:, None]
        read = ops.cast(readout, "float32") * share

        def and_even(factors: Tensor) -> Tensor:
            return ops.cast(ops.concatenate([factors, -smoothing * ops.sum(factors, axis=0, keepdims=True)]), dtype)

        by_readout = ops.cast(ops.matmul(probabilities, kernel), "float32")
        right = (1 - smoothing) * ops.cast(gather(kernel, targets), "float32")
        by_readout = (by_readout[:-1] - right - smoothing * by_readout[-1]) * share
        by_kernel = ops.cast(ops.matmul(ops.transpose(probabilities), and_even(read)), "float32")
        by_bias = ops.cast(ops.matmul(ops.transpose(and_even(share)), probabilities), "float32")
        return _Gradients(
            by_readout,
            scatter_add(by_kernel, targets, (smoothing - 1) * read),
            scatter_add(by_bias[0][:, None], targets, (smoothing - 1) * share)[:, 0],
        )

    return ops.sum(ops.where(targets != PAD, losses, 0.0)), gradients
