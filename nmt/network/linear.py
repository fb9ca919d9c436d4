"""Matrix products of tensors with several batch axes, each computed as one product of two matrices.

TensorFlow's own product of a tensor with more than two axes adds a dozen shape operations to each step of a
recurrence.
"""

from __future__ import annotations

from collections.abc import Callable

from keras import ops

from nmt.backend import Tensor
from nmt.backend.shapes import reshape_like


def apply_to_rows(function: Callable[[Tensor], Tensor], values: Tensor) -> Tensor:
    """Applies a function of matrices, [rows, width] -> [rows, units], to a tensor with more axes.

    Args:
        function: for example a dense layer.
        values: [batch, ..., width].

    Returns:
        [batch, ..., units].
    """
    rows = function(ops.reshape(values, (-1, values.shape[-1])))
    between = values.shape[1:-1]
    if None not in between:
        return ops.reshape(rows, (-1, *between, rows.shape[-1]))
    if rows.shape[-1] == values.shape[-1]:
        return reshape_like(rows, values)
    return ops.reshape(rows, (-1, *ops.shape(values)[1:-1], rows.shape[-1]))


def linear(values: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
    """values @ kernel + bias, all of one type. TensorFlow adds the bias in the operation that multiplies.

    Args:
        values: [batch, ..., width].
        kernel: [width, units].
        bias: [units]; None: no bias.

    Returns:
        [batch, ..., units].
    """
    if bias is None:
        return apply_to_rows(lambda rows: ops.matmul(rows, kernel), values)
    return apply_to_rows(lambda rows: ops.add(ops.matmul(rows, kernel), bias), values)


def linear_to_float32(values: Tensor, kernel: Tensor, bias: Tensor | None = None, *, multiply_in: str) -> Tensor:
    """values @ kernel + bias in float32, where only the product may be rounded to a shorter type.

    If both types are float32, TensorFlow adds the bias in the operation that multiplies. Otherwise the sum is still a
    bias operation, whose gradient takes half the time of other sums.

    Args:
        values: [batch, ..., width].
        kernel: [width, units].
        bias: [units]; None: no bias.
        multiply_in: type of the product's factors.

    Returns:
        float32 [batch, ..., units].
    """

    def product(rows: Tensor) -> Tensor:
        products = ops.cast(ops.matmul(rows, ops.cast(kernel, multiply_in)), "float32")
        return products if bias is None else ops.add(products, ops.cast(bias, "float32"))

    return apply_to_rows(product, ops.cast(values, multiply_in))
