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


def logit_rounding_errors(readouts: Tensor, output: OutputLayer, columns: Tensor, logits: Tensor) -> Tensor:
    """Exact sum minus computed sum in some logits, where products are rounded to the compute type.

    The computed logits are compared, because processors without such products also round partial sums.

    Args:
        readouts: [rows, readout], in the compute type.
        output: the output layer; its kernel may be of any type.
        columns: columns of the logits, integer [rows, any].
        logits: the computed logits of these columns, float32 [rows, any].

    Returns:
        float32 [rows, any].
    """
    kernel = ops.cast(gather(output.kernel, columns), readouts.dtype)
    products = ops.cast(readouts, "float32")[:, None] * ops.cast(kernel, "float32")  # [rows, any, readout]
    return ops.sum(products, axis=-1) + gather(output.bias, columns) - logits
