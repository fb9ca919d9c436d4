"""Multi-head attention and the causal mask (Vaswani et al. 2017)."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.arithmetic import batched_matmul
from nmt.backend.shapes import axis_length
from nmt.network.attention.masked_softmax import masked_softmax
from nmt.network.linear import linear


class KeysValues(NamedTuple):
    """Keys and values of one sequence, projected for each head. Queries are compared with the keys, and the context
    vectors are sums of the values."""

    keys: Tensor
    """[batch, heads, positions, width / heads]."""
    values: Tensor
    """[batch, heads, positions, width / heads]."""


@keras.saving.register_keras_serializable("nmt")
class MultiHeadAttention(keras.layers.Layer):
    """Scaled dot-product attention in several narrow projections (Vaswani et al. 2017, section 3.2.2).

    Args:
        heads: number of heads; it divides the width.
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

    def call(self, query: Tensor, memory: KeysValues, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Attention of each query position to a memory.

        Args:
            query: [batch, queries, width].
            memory: result of `project_memory`.
            mask: boolean, broadcastable to [batch, heads, queries, positions], true where a query may attend.

        Returns:
            [batch, queries, width] in the compute type, and weights, float32 [batch, heads, queries, positions].
        """
        (queries,) = self._project(query, "query")
        return self.attend(queries, memory, mask)

    def attend(self, queries: Tensor, memory: KeysValues, mask: Tensor) -> tuple[Tensor, Tensor]:
        """softmax(Q K^T / sqrt(d)) V in each head, then the output projection (Vaswani et al. 2017, eq. 1).

        Args:
            queries: projected queries, [batch, heads, queries, width / heads].
            memory, mask: as in `call`.

        Returns:
            As `call`.
        """
        products = ops.cast(batched_matmul(queries, memory.keys, transpose_right=True), "float32")
        weights = masked_softmax(products / float(queries.shape[-1]) ** 0.5, mask)
        contexts = self._merge_heads(batched_matmul(ops.cast(weights, self.compute_dtype), memory.values))
        return linear(contexts, *self._kernel_and_bias("output")), weights

    def project_memory(self, memory: Tensor) -> KeysValues:
        """Keys and values of a memory, [batch, positions, width]; computed once for all queries."""
        return KeysValues(*self._project(memory, "key", "value"))

    def project_self(self, values: Tensor) -> tuple[Tensor, KeysValues]:
        """Projections for self-attention.

        Args:
            values: [batch, positions, width].

        Returns:
            Queries, [batch, heads, positions, width / heads], and keys and values of the same sequence.
        """
        queries, *memory = self._project(values, "query", "key", "value")
        return queries, KeysValues(*memory)

    def _project(self, values: Tensor, *names: str) -> list[Tensor]:
        """Several projections of the same values, computed as one product.

        Args:
            values: [batch, positions, width].
            names: names of the projections.

        Returns:
            For each name, [batch, heads, positions, width / heads] in the compute type.
        """
        kernel, bias = self._kernel_and_bias(*names)
        rows = ops.reshape(ops.cast(values, self.compute_dtype), (-1, values.shape[-1]))
        product = ops.add(ops.matmul(rows, kernel), bias)
        count, size = len(names), self.output_bias.shape[0] // self.heads
        if values.shape[1] == 1:  # a step of search: a reshape does the work of the transposition
            return ops.unstack(ops.reshape(product, (-1, count, self.heads, 1, size)), count, axis=1)
        parts = ops.reshape(product, (-1, axis_length(values, 1), count, self.heads, size))
        return ops.unstack(ops.transpose(parts, (2, 0, 3, 1, 4)), count)

    def _kernel_and_bias(self, *names: str) -> tuple[Tensor, Tensor]:
        """Kernels and biases of these projections side by side, in the compute type."""
        kernel, bias = (
            [ops.cast(getattr(self, f"{name}_{part}"), self.compute_dtype) for name in names]
            for part in ("kernel", "bias")
        )
        return (kernel[0], bias[0]) if len(names) == 1 else (ops.concatenate(kernel, axis=1), ops.concatenate(bias))

    def _merge_heads(self, heads: Tensor) -> Tensor:
        """[batch, heads, positions, width / heads] -> [batch, positions, width]."""
        width = heads.shape[-1] * self.heads
        if heads.shape[2] == 1:
            return ops.reshape(heads, (-1, 1, width))
        return ops.reshape(ops.transpose(heads, (0, 2, 1, 3)), (-1, axis_length(heads, 2), width))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "heads": self.heads}


def causal_mask(steps: Tensor) -> Tensor:
    """bool [steps, steps]: each step (row) sees itself and the steps before it (columns)."""
    numbers = ops.arange(steps, dtype="int32")
    return numbers[None, :] <= numbers[:, None]
