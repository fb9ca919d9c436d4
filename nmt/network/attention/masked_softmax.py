"""The masked softmax: energies become attention weights, and padding gets none."""

from __future__ import annotations

import warnings
from typing import Any

from keras import ops

from nmt.backend import Tensor
from nmt.backend.gradients import with_gradient

MASKED_ENERGY = -1e9
"""Energy of a position that should get no attention. It is far below any real energy, and finite, so that no gradient
becomes NaN."""


def masked_softmax(energies: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis, over the positions where `mask` is true.

    Args:
        energies: [..., positions], any float type; the softmax is computed in float32.
        mask: boolean, broadcastable to `energies`.

    Returns:
        float32 [..., positions]. Masked positions are exactly zero. Each row sums to one, or is all zero if the whole
        row is masked.
    """

    def forward(energies: Tensor) -> tuple[Tensor, Any]:
        with warnings.catch_warnings():
            # A softmax over a single position is correct here: the position gets all attention.
            warnings.filterwarnings("ignore", message="You are using a softmax over axis")
            # Masked positions lie below MASKED_ENERGY, because all unmasked energies may equal it.
            weights = ops.softmax(ops.where(mask, ops.cast(energies, "float32"), 2 * MASKED_ENERGY), axis=-1)
        weights = ops.where(mask, weights, 0.0)

        # TensorFlow's own gradient would compare the shapes of mask and energies for each operation above.
        def gradient(upstream: Tensor) -> Tensor:
            weighted = upstream * weights
            return ops.cast(weighted - weights * ops.sum(weighted, axis=-1, keepdims=True), energies.dtype)

        return weights, gradient

    return with_gradient(forward, energies)
