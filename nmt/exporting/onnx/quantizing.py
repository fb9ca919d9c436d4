"""Weights in int8: whole numbers in blocks, with a scale for each block.

ONNX Runtime's `MatMulNBits` multiplies such blocks. It rounds the values that it multiplies by row and block, so the
products of a row depend on no other row, and its sums are exact on every processor. ONNX Runtime for browsers has no
fast `MatMulNBits`. There a block is a whole row, and all values of a product are rounded with one scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from nmt.exporting.onnx.graph import Graph, Value

MICROSOFT, MICROSOFT_OPSET = "com.microsoft", 1
"""ONNX Runtime's own operators, and their version."""

SIZES = (256, 128, 64, 32)
"""Sizes of blocks, the fastest first."""

ZERO = 128
"""The byte that stands for 0 in `MatMulNBits`."""

WHOLE_NUMBERS = 4
"""The `accuracy_level` of `MatMulNBits` that rounds the values and multiplies whole numbers."""

FLOAT = 1
"""ONNX's number for float32."""

FEW_COLUMNS = 8
"""Matrices with fewer columns stay in float32: they cost little, and their products are energies and positions of
attention."""


class Blocks(NamedTuple):
    """The rows of a matrix in int8."""

    values: np.ndarray
    """[rows, blocks, size], `zero` behind the end of a row; int8 for browsers, otherwise uint8."""
    scales: np.ndarray
    """float32 [rows, blocks]."""
    width: int
    """Of the matrix."""
    zero: int
    """The value that stands for 0."""


def in_blocks(matrix: np.ndarray, in_browser: bool, one_scale: bool = False) -> Blocks:
    """The rows of a matrix, float32 [rows, width], in int8.

    Args:
        one_scale: the blocks of a row share their scale.
    """
    rows, width = matrix.shape
    size = width if in_browser else next((size for size in SIZES if width % size == 0), SIZES[-1])
    values = np.pad(matrix, ((0, 0), (0, -width % size))).reshape(rows, -1, size)
    greatest = np.abs(values).max(axis=2)
    if one_scale:
        greatest = np.broadcast_to(greatest.max(axis=1, keepdims=True), greatest.shape)
    scales = np.maximum(greatest / 127, np.finfo(np.float32).tiny).astype(np.float32)
    whole, zero = np.round(values / scales[:, :, None]), 0 if in_browser else ZERO
    return Blocks((whole + zero).astype(np.uint8 if zero else np.int8), scales, width, zero)


def is_kernel(value: Any) -> bool:
    """Whether a value is a matrix of weights, [width, columns], that is stored in int8."""
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] >= FEW_COLUMNS


def whole_product(values: Value, columns: Blocks, bias: np.ndarray | None = None) -> Value:
    """Values [..., width] times a matrix that is given by its columns, plus a bias [columns]; the values are
    rounded."""
    if not columns.zero:
        product = whole_product_among(values, columns)
        return product if bias is None else product + bias
    sizes = {"K": columns.width, "N": len(columns.values), "block_size": columns.values.shape[2], "bits": 8}
    how = {"accuracy_level": WHOLE_NUMBERS, "domain": MICROSOFT}
    more = () if bias is None else (None, None, bias)
    return values.graph.op("MatMulNBits", values, columns.values, columns.scales, *more, **sizes, **how)


def whole_product_among(values: Value, columns: Blocks, ids: Value | None = None) -> Value:
    """Values [..., width] times some columns, which have one scale each. All values are rounded with one scale.

    Args:
        ids: the numbers of the columns; None: all columns.
    """
    graph = values.graph
    rows, scales = graph.constant(columns.values), graph.constant(columns.scales[:, 0])
    if ids is not None:
        rows, scales = graph.op("Gather", rows, ids), graph.op("Gather", scales, ids)
    # Without ids, ONNX Runtime joins and transposes once, when it loads the graph.
    kernel = graph.op("Transpose", _joined(graph, columns, rows), perm=(1, 0))
    whole, scale, zero = graph.ops("DynamicQuantizeLinear", 3, values)
    zeros = [zero, np.array(columns.zero, np.uint8)] if columns.zero else [zero]
    return graph.op("Cast", graph.op("MatMulInteger", whole, kernel, *zeros), to=FLOAT) * (scale * scales)


def float_rows(graph: Graph, matrix: Blocks, ids: Value | None = None, axes: int = 1) -> Value:
    """Rows of a matrix in float32, [..., width].

    Args:
        ids: the numbers of the rows; None: all rows.
        axes: of the ids.
    """
    whole, scales = graph.constant(matrix.values), graph.constant(matrix.scales[:, :, None])
    if ids is not None:
        whole, scales = graph.op("Gather", whole, ids), graph.op("Gather", scales, ids)
    return _joined(graph, matrix, (graph.op("Cast", whole, to=FLOAT) - float(matrix.zero)) * scales, axes)


def _joined(graph: Graph, matrix: Blocks, values: Value, axes: int = 1) -> Value:
    """The blocks of rows [..., blocks, size] one after the other, [..., width]."""
    joined = graph.op("Reshape", values, np.array([0] * axes + [-1]))
    if matrix.width == matrix.values[0].size:
        return joined
    return graph.op("Slice", joined, np.array([0]), np.array([matrix.width]), np.array([-1]))
