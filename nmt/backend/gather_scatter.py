"""Reading rows by their indices, and adding to rows."""

from __future__ import annotations

import numpy as np

from nmt.backend import Tensor, ops
from nmt.backend.capabilities import on_tensorflow


def gather(values: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
    """`keras.ops.take` for indices that are never negative.

    On TensorFlow `keras.ops.take` spends four more operations on finding negative indices.

    Args:
        values: [..., n, ...], n at `axis`.
        indices: integers of any shape, from 0 to n - 1.
    """
    if ops.is_numpy(values, indices):
        return values.take(indices, axis)
    if on_tensorflow(values, indices):
        import tensorflow as tf

        return tf.gather(values, indices, axis=axis)
    return ops.take(values, indices, axis=axis)


def gather_within(values: Tensor, indices: Tensor) -> Tensor:
    """Gathers from each row of `values` the entries at this row's own indices.

    Args:
        values: [batch, n, ...].
        indices: int32 [batch, any], from 0 to n - 1.

    Returns:
        [batch, any, ...].
    """
    if ops.is_numpy(values, indices):
        if len(values) == 1:  # several times as fast
            return values.take(indices[0], 1)
        return values[np.arange(len(values))[:, None], indices]
    if on_tensorflow(values, indices):
        import tensorflow as tf

        return tf.gather(values, indices, batch_dims=1)
    shape = ops.shape(values)
    flat_indices = ops.arange(shape[0], dtype="int32")[:, None] * shape[1] + indices
    return ops.take(ops.reshape(values, (-1, *shape[2:])), flat_indices, axis=0)


def scatter_add(values: Tensor, indices: Tensor, rows: Tensor) -> Tensor:
    """Adds rows to the rows of `values` at these indices. An index that occurs twice gets both rows.

    The caller must not read `values` afterwards: they may have been changed in place.

    Args:
        values: [n, width].
        indices: int32 [any], from 0 to n - 1.
        rows: [any, width].
    """
    if not on_tensorflow(values, indices, rows):
        return values + ops.segment_sum(rows, indices, num_segments=values.shape[0])
    import tensorflow as tf

    # Eagerly the caller may still hold `values`. On a GPU, InplaceAdd may lose rows that share an index.
    if tf.executing_eagerly() or tf.config.list_physical_devices("GPU"):
        return tf.tensor_scatter_nd_add(values, indices[:, None], rows)
    # In place, because tensor_scatter_nd_add copies all values first.
    return tf.raw_ops.InplaceAdd(x=values, i=indices, v=rows)
