"""Multi-head attention, and positions for sequences that nothing recurrent reads (Vaswani et al. 2017)."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from nmt.backend import Tensor
from nmt.backend.arithmetic import batched_matmul
from nmt.backend.shapes import axis_length
from nmt.network.attention.core import flat_product, masked_softmax


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

    def kernel_and_bias(self, *names: str) -> tuple[Tensor, Tensor]:
        """Kernel and bias of these projections side by side, in the compute type."""
        kernel, bias = (
            [ops.cast(getattr(self, f"{name}_{part}"), self.compute_dtype) for name in names]
            for part in ("kernel", "bias")
        )
        return (kernel[0], bias[0]) if len(names) == 1 else (ops.concatenate(kernel, axis=1), ops.concatenate(bias))

    def projected(self, values: Tensor, *names: str) -> list[Tensor]:
        """What these projections make of the same values, [batch, positions, width], as one product: for each name
        [batch, heads, positions, width / heads], in the compute type."""
        kernel, bias = self.kernel_and_bias(*names)
        rows = ops.reshape(ops.cast(values, self.compute_dtype), (-1, values.shape[-1]))
        product = ops.add(ops.matmul(rows, kernel), bias)
        count, size = len(names), self.output_bias.shape[0] // self.heads
        if values.shape[1] == 1:  # a step of search: nothing changes its place
            return ops.unstack(ops.reshape(product, (-1, count, self.heads, 1, size)), count, axis=1)
        parts = ops.reshape(product, (-1, axis_length(values, 1), count, self.heads, size))
        return ops.unstack(ops.transpose(parts, (2, 0, 3, 1, 4)), count)

    def join(self, heads: Tensor) -> Tensor:
        """[batch, heads, positions, width / heads] -> [batch, positions, width]."""
        width = heads.shape[-1] * self.heads
        if heads.shape[2] == 1:
            return ops.reshape(heads, (-1, 1, width))
        return ops.reshape(ops.transpose(heads, (0, 2, 1, 3)), (-1, axis_length(heads, 2), width))

    def project_memory(self, memory: Tensor) -> KeysValues:
        """Keys and values of a memory, [batch, positions, width]; computed once for all queries."""
        return KeysValues(*self.projected(memory, "key", "value"))

    def read(self, values: Tensor) -> tuple[Tensor, KeysValues]:
        """Of a sequence that attends to itself, [batch, positions, width]: its queries, [batch, heads, positions,
        width / heads], and its keys and values."""
        queries, *memory = self.projected(values, "query", "key", "value")
        return queries, KeysValues(*memory)

    def call(self, query: Tensor, memory: KeysValues, mask: Tensor) -> tuple[Tensor, Tensor]:
        """
        Args:
            query: [batch, queries, width].
            memory: `project_memory(memory)`.
            mask: boolean, broadcastable to [batch, heads, queries, positions], true where a query may look.

        Returns:
            [batch, queries, width] in the compute type, and weights, float32 [batch, heads, queries, positions].
        """
        (queries,) = self.projected(query, "query")
        return self.attend(queries, memory, mask)

    def attend(self, queries: Tensor, memory: KeysValues, mask: Tensor) -> tuple[Tensor, Tensor]:
        """What `call` gives, of queries in heads, as `read` makes them."""
        products = ops.cast(batched_matmul(queries, memory.keys, transpose_right=True), "float32")
        weights = masked_softmax(products / float(queries.shape[-1]) ** 0.5, mask)
        contexts = self.join(batched_matmul(ops.cast(weights, self.compute_dtype), memory.values))
        return flat_product(contexts, *self.kernel_and_bias("output")), weights

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
