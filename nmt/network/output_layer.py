"""The output layer: logits of the whole vocabulary or of some pieces, and the error that rounding leaves in them."""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from nmt.backend import Tensor
from nmt.backend.gather_scatter import gather


class OutputLayer(NamedTuple):
    """Weights of the output layer for some target pieces."""

    kernel: Tensor
    """[pieces, readout], in the compute type."""
    bias: Tensor
    """float32 [pieces]."""


def output_logits(readouts: Tensor, output: OutputLayer, parts: int = 1) -> Tensor:
    """Read-outs [..., readout] -> logits, float32 [..., pieces].

    Args:
        readouts: in the compute type.
        output: weights of the pieces; their number must be known if `parts` is above 1.
        parts: number of parts of the pieces that are computed in parallel.
    """

    def product(kernel: Tensor, bias: Tensor) -> Tensor:
        return ops.cast(ops.matmul(readouts, ops.transpose(kernel)), "float32") + bias

    if parts == 1:
        return product(*output)
    kernel, bias = output
    edges = [bias.shape[0] * part // parts for part in range(1, parts)]
    return ops.concatenate(list(map(product, ops.split(kernel, edges), ops.split(bias, edges))), axis=-1)


def logit_rounding_errors(readouts: Tensor, kernel: Tensor, columns: Tensor) -> Tensor:
    """Exact sum minus rounded sum in some logits, where products are rounded to the compute type.

    A sum halfway between two numbers may have been rounded to the other one.

    Args:
        readouts: [rows, readout], in the compute type.
        kernel: kernel of the output layer, [pieces, readout].
        columns: columns of the logits, integer [rows, any].

    Returns:
        float32 [rows, any].
    """
    dtype = readouts.dtype
    kernel = ops.cast(gather(kernel, columns), dtype)
    products = ops.cast(readouts, "float32")[:, None] * ops.cast(kernel, "float32")  # [rows, any, readout]
    sums = ops.sum(products, axis=-1)
    return sums - ops.cast(ops.cast(sums, dtype), "float32")
