"""Embedding tables, which the output layer may share; see `nmt.network.model` and `nmt.network.output_layer`."""

from __future__ import annotations

import numpy as np

from nmt.exporting.onnx.graph import Graph, Value
from nmt.exporting.onnx.operations import cast, length, squeeze, transpose


class Table:
    """Vectors of pieces, [pieces, width]. In int8 each vector has a scale of its own.

    Args:
        graph: the graph that holds the table.
        vectors: float32 [pieces, width].
    """

    def __init__(self, graph: Graph, vectors: np.ndarray) -> None:
        self.graph, self.width = graph, vectors.shape[1]
        self.scales: Value | None = None
        if graph.precision == "int8":
            scales = np.maximum(np.abs(vectors).max(axis=1, keepdims=True) / 127, np.finfo(np.float32).tiny)
            self.scales = graph.constant(scales.astype(np.float32))
            vectors = np.round(vectors / scales).astype(np.int8)
        self.vectors = graph.constant(vectors)

    def embed(self, ids: Value) -> Value:
        """Embeddings of ids, scaled as `nmt.network.model.Seq2Seq.embed` scales them."""
        rows = self.graph.op("Gather", self.vectors, ids)
        if self.scales is not None:
            rows = cast(rows, "float32") * self.graph.op("Gather", self.scales, ids)
        return rows * float(self.width) ** 0.5

    def logits(self, readouts: Value, bias: np.ndarray, among: Value) -> Value:
        """Logits of all pieces, or of the pieces `among`, int32 [any], if there are any: float32 [rows, pieces]."""
        biases, scales = self.graph.constant(bias), self.scales

        def of_all() -> Value:
            if scales is None:
                return self.graph.op("Gemm", readouts, self.vectors, biases, transB=1)
            # ONNX Runtime transposes once, when it loads the graph. Inside of the branch it then owns the columns, and
            # can store them as processors without VNNI need them (see `exported_model.session_options`).
            return _whole_products(readouts, transpose(self.vectors, 1, 0), transpose(scales, 1, 0)) + biases

        def of_some() -> Value:
            vectors, some = (self.graph.op("Gather", rows, among) for rows in (self.vectors, biases))
            if scales is None:
                return self.graph.op("Gemm", readouts, vectors, some, transB=1)
            factors = self.graph.op("Gather", scales, among)
            return _whole_products(readouts, transpose(vectors, 1, 0), transpose(factors, 1, 0)) + some

        everything = squeeze(self.graph.op("Equal", length(among, 0), np.array(0)), 0)
        return self.graph.choose(everything, of_all, of_some)


def _whole_products(values: Value, kernel: Value, scales: Value) -> Value:
    """values [rows, width] @ kernel, int8 [width, columns], times scales [1, columns]; the values are rounded."""
    graph = values.graph
    whole, scale, zero = graph.ops("DynamicQuantizeLinear", 3, values)
    return cast(graph.op("MatMulInteger", whole, kernel, zero), "float32") * (scale * scales)
