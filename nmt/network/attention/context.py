"""The context vector: the sum of the values, weighted by attention."""

from __future__ import annotations

from keras import ops

from nmt.backend import Tensor
from nmt.backend.arithmetic import batched_matmul


def context_vectors(weights: Tensor, values: Tensor) -> Tensor:
    """Weighted sums of the values, c_i = sum_j alpha_ij h_j (Bahdanau et al. 2015, eq. 5).

    Args:
        weights: attention weights, float32 [..., queries, positions].
        values: [..., positions, width]; the products are formed in their type.

    Returns:
        float32 [..., queries, width].
    """
    return ops.cast(batched_matmul(ops.cast(weights, values.dtype), values), "float32")
