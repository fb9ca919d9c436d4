"""Sums and matrix products of tensors that need no broadcasting.

TensorFlow's `+` and `matmul` may broadcast. Their gradients therefore compare the shapes of both sides in the backward
pass, if the shapes were unknown when the program was traced. The operations here leave that out.
"""

from __future__ import annotations

from keras import ops

from nmt.backend import Tensor
from nmt.backend.capabilities import on_tensorflow


def add_same_shape(left: Tensor, right: Tensor) -> Tensor:
    """The sum of two tensors of the same shape."""
    if on_tensorflow(left, right):
        import tensorflow as tf

        return tf.add_n([left, right])
    return left + right


def batched_matmul(left: Tensor, right: Tensor, transpose_right: bool = False) -> Tensor:
    """left @ right for each pair of matrices; both sides have the same leading axes.

    Args:
        left: [..., rows, inner].
        right: [..., inner, columns], or [..., columns, inner] with `transpose_right`.

    Returns:
        [..., rows, columns].
    """
    if on_tensorflow(left, right):
        import tensorflow as tf

        return tf.raw_ops.BatchMatMul(x=left, y=right, adj_x=False, adj_y=transpose_right)
    return ops.matmul(left, ops.swapaxes(right, -1, -2) if transpose_right else right)
