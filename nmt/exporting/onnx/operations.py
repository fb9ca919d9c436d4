"""Combinations of ONNX operators that several parts of the network use."""

from __future__ import annotations

import numpy as np

from nmt.exporting.onnx.graph import Value
from nmt.exporting.weights import Weights

MASKED_ENERGY = -1e9
"""Energy of a position that should get no attention, far below any real energy."""


def linear(values: Value, weights: Weights) -> Value:
    """values @ kernel + bias, with the weights of a dense layer."""
    return values @ weights["kernel"] + weights["bias"]


def masked_softmax(energies: Value, mask: Value) -> Value:
    """See `nmt.network.attention.masked_softmax`."""
    graph = energies.graph
    weights = graph.op("Softmax", graph.op("Where", mask, energies, 2 * MASKED_ENERGY), axis=-1)
    return graph.op("Where", mask, weights, 0.0)


def context_vectors(weights: Value, values: Value) -> Value:
    """Sums of values [rows, positions, width], weighted by attention [rows, positions]: [rows, width]."""
    return squeeze(unsqueeze(weights, 1) @ values, 1)


def unsqueeze(value: Value, *axes: int) -> Value:
    """The value with more axes of length 1."""
    return value.graph.op("Unsqueeze", value, np.array(axes))


def squeeze(value: Value, axis: int) -> Value:
    """The value without an axis of length 1."""
    return value.graph.op("Squeeze", value, np.array([axis]))


def reshape(value: Value, *shape: int) -> Value:
    """The value in another shape; 0 keeps the length of an axis."""
    return value.graph.op("Reshape", value, np.array(shape))


def transpose(value: Value, *axes: int) -> Value:
    """The value with its axes in another order."""
    return value.graph.op("Transpose", value, perm=axes)


def split(value: Value, count: int, axis: int = -1) -> list[Value]:
    """Equal parts of a value along an axis."""
    return value.graph.ops("Split", count, value, axis=axis, num_outputs=count)


def cast(value: Value, dtype: str) -> Value:
    """The value in another type: float32, int32 or int64."""
    return value.graph.op("Cast", value, to={"float32": 1, "int32": 6, "int64": 7}[dtype])


def length(value: Value, axis: int) -> Value:
    """The length of an axis, int64 [1]."""
    return value.graph.op("Shape", value, start=axis, end=axis + 1)


def arange(count: Value) -> Value:
    """0, 1, 2, ...; `count` of them, int64 [1] -> int64 [count]."""
    zero, one = np.array(0), np.array(1)
    return count.graph.op("Range", zero, squeeze(count, 0), one)


def total(value: Value, axis: int) -> Value:
    """The sum over an axis, which keeps length 1."""
    return value.graph.op("ReduceSum", value, np.array([axis]), keepdims=1)


def masked_zeros(mask: Value) -> Value:
    """Zeros in the shape of a mask, float32."""
    return cast(mask, "float32") * 0.0
