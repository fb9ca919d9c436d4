"""Attention: energies between a query and keys, masked softmax over them, context vector.

The names are those of Bahdanau, Cho and Bengio (2015), "Neural Machine Translation by Jointly Learning to Align and
Translate": the memory holds their annotations h_j, the query is the decoder's previous state s_{i-1}.
"""

from __future__ import annotations

import warnings
from typing import Any

import keras
from keras import ops

Tensor = Any
"""A tensor of whichever backend Keras runs on."""

MASKED = -1e9
"""Energy of a padded position: far below any real energy, and finite, so that no gradient becomes NaN."""


def masked_softmax(energies: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis, over the positions where `mask` is true.

    Args:
        energies: [..., positions], any float type; computed in float32.
        mask: boolean, broadcastable to `energies`.

    Returns:
        float32 [..., positions]: exactly zero where masked; each row sums to one, or is all zero where nothing is
        unmasked.
    """
    with warnings.catch_warnings():
        # Of one position, which gets all of it: no mistake here.
        warnings.filterwarnings("ignore", message="You are using a softmax over axis")
        weights = ops.softmax(ops.where(mask, ops.cast(energies, "float32"), MASKED), axis=-1)
    return ops.where(mask, weights, 0.0)


def context_vector(weights: Tensor, memory: Tensor) -> Tensor:
    """Weighted sum of the memory, c_i = sum_j alpha_ij h_j (Bahdanau et al. 2015, eq. 5).

    Args:
        weights: float32 [batch, positions].
        memory: [batch, positions, width], multiplied in its own type.

    Returns:
        float32 [batch, width].
    """
    rows = ops.cast(weights, memory.dtype)[:, None, :]
    return ops.cast(ops.squeeze(ops.matmul(rows, memory), axis=1), "float32")


@keras.saving.register_keras_serializable("nmt")
class AdditiveAttention(keras.layers.Layer):
    """Additive attention, e_ij = v^T tanh(W s_{i-1} + q_i + U h_j + b) (Bahdanau et al. 2015, A.1.2).

    The bias b is ours; the paper leaves biases out of its notation. So is q_i, what the decoder adds to the projected
    query. `keys` is the part U h_j + b that does not depend on the decoder: it is computed once a sentence, outside the
    recurrence.

    Args:
        units: width of the hidden layer.
    """

    def __init__(self, units: int, **kwargs: Any) -> None:
        # The state is carried in float32 whatever the precision: nothing may cast it on the way in.
        super().__init__(autocast=False, **kwargs)
        self.units = units

    def build(self, query_shape: tuple, memory_shape: tuple, *_: Any) -> None:
        self.query_kernel = self.add_weight(shape=(query_shape[-1], self.units), autocast=False, name="query_kernel")
        self.key_kernel = self.add_weight(shape=(memory_shape[-1], self.units), autocast=False, name="key_kernel")
        self.key_bias = self.add_weight(shape=(self.units,), initializer="zeros", autocast=False, name="key_bias")
        self.energy_kernel = self.add_weight(shape=(self.units, 1), autocast=False, name="energy_kernel")
        self.built = True

    def keys(self, memory: Tensor) -> Tensor:
        """U h_j + b: [batch, positions, width] -> [batch, positions, units], in the compute type."""
        kernel = ops.cast(self.key_kernel, self.compute_dtype)
        return ops.matmul(ops.cast(memory, self.compute_dtype), kernel) + ops.cast(self.key_bias, self.compute_dtype)

    def energies(self, query: Tensor, keys: Tensor, offset: Tensor | None = None) -> Tensor:
        """e_ij of one step: query [batch, state], keys [batch, positions, units] -> float32 [batch, positions]."""
        kernel = ops.cast(self.query_kernel, self.compute_dtype)
        projected = ops.matmul(ops.cast(query, self.compute_dtype), kernel)  # [batch, units]
        if offset is not None:
            projected = projected + ops.cast(offset, self.compute_dtype)
        hidden = ops.tanh(keys + projected[:, None, :])
        return ops.squeeze(ops.matmul(ops.cast(hidden, "float32"), self.energy_kernel), axis=-1)

    def call(
        self, query: Tensor, memory: Tensor, keys: Tensor, mask: Tensor, offset: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """One step of attention.

        Args:
            query: previous decoder state s_{i-1}, float32 [batch, state].
            memory: [batch, positions, width].
            keys: `keys(memory)`, [batch, positions, units].
            mask: boolean [batch, positions], true at real positions.
            offset: q_i, added to the projected query, [batch, units]; None: nothing.

        Returns:
            Context vector, float32 [batch, width], and attention weights, float32 [batch, positions].
        """
        weights = masked_softmax(self.energies(query, keys, offset), mask)
        return context_vector(weights, memory), weights

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}
