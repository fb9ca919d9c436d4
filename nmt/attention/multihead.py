"""Multi-head attention, and positions for sequences that nothing recurrent reads (Vaswani et al. 2017)."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from nmt.attention.core import Tensor, context_vectors, flat_product, inner_products, masked_softmax
from nmt.operations import length


class KeysValues(NamedTuple):
    """What the heads compare queries with, and what they take from where they look."""

    keys: Tensor
    """[batch, heads, positions, width / heads]."""
    values: Tensor
    """[batch, heads, positions, width / heads]."""


@keras.saving.register_keras_serializable("nmt")
class MultiHeadAttention(keras.layers.Layer):
    """Scaled dot products in several narrow projections side by side (Vaswani et al. 2017, section 3.2.2).

    Args:
        heads: how many; they divide the width.
    """

    def __init__(self, heads: int, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.heads = heads

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        width = query_shape[-1]
        if width % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a width of {width}")
        for name, inputs in (
            ("query", width),
            ("key", memory_shape[-1]),
            ("value", memory_shape[-1]),
            ("output", width),
        ):
            kernel = self.add_weight(shape=(inputs, width), autocast=False, name=f"{name}_kernel")
            bias = self.add_weight(shape=(width,), initializer="zeros", autocast=False, name=f"{name}_bias")
            setattr(self, f"{name}_kernel", kernel)
            setattr(self, f"{name}_bias", bias)
        self.built = True

    def affine(self, values: Tensor, name: str) -> Tensor:
        """values @ kernel + bias of that name, in the compute type."""
        kernel, bias = (ops.cast(getattr(self, f"{name}_{part}"), self.compute_dtype) for part in ("kernel", "bias"))
        return flat_product(ops.cast(values, self.compute_dtype), kernel, bias)

    def split(self, values: Tensor) -> Tensor:
        """[batch, positions, width] -> [batch, heads, positions, width / heads]."""
        size = values.shape[-1] // self.heads
        if values.shape[1] == 1:  # a step of search: nothing changes its place
            return ops.reshape(values, (-1, self.heads, 1, size))
        shape = (-1, length(values, 1), self.heads, size)
        return ops.transpose(ops.reshape(values, shape), (0, 2, 1, 3))

    def join(self, heads: Tensor) -> Tensor:
        """[batch, heads, positions, width / heads] -> [batch, positions, width]."""
        width = heads.shape[-1] * self.heads
        if heads.shape[2] == 1:
            return ops.reshape(heads, (-1, 1, width))
        return ops.reshape(ops.transpose(heads, (0, 2, 1, 3)), (-1, length(heads, 2), width))

    def memorize(self, memory: Tensor) -> KeysValues:
        """Keys and values of a memory, [batch, positions, width]; computed once for all queries."""
        return KeysValues(self.split(self.affine(memory, "key")), self.split(self.affine(memory, "value")))

    def call(self, query: Tensor, memory: KeysValues, mask: Tensor) -> tuple[Tensor, Tensor]:
        """
        Args:
            query: [batch, queries, width].
            memory: `memorize(memory)`.
            mask: boolean, broadcastable to [batch, heads, queries, positions], true where a query may look.

        Returns:
            [batch, queries, width] in the compute type, and weights, float32 [batch, heads, queries, positions].
        """
        queries = self.split(self.affine(query, "query"))
        energies = ops.cast(inner_products(queries, memory.keys), "float32") / float(queries.shape[-1]) ** 0.5
        weights = masked_softmax(energies, mask)
        return self.affine(self.join(context_vectors(weights, memory.values)), "output"), weights

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "heads": self.heads}


def sinusoids(positions: Tensor, width: int) -> Tensor:
    """Sines and cosines of a position at wavelengths from 2 pi to 10,000 * 2 pi (Vaswani et al. 2017, section 3.5).

    Args:
        positions: numbers [...], from 0.
        width: even.

    Returns:
        float32 [..., width]: at 2i the sine, at 2i + 1 the cosine of position / 10000^(2i / width).
    """
    rates = (10000.0 ** (-np.arange(0, width, 2) / width)).astype(np.float32)
    angles = ops.cast(positions, "float32")[..., None] * rates
    pairs = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)
    return ops.reshape(pairs, (*ops.shape(angles)[:-1], width))


def causal_mask(steps: Tensor) -> Tensor:
    """bool [steps, steps]: a step sees itself and those before it."""
    places = ops.arange(steps, dtype="int32")
    return places[None, :] <= places[:, None]
