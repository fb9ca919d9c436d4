"""Embedding tables, which the output layer may share; see `nmt.network.model` and `nmt.network.output_layer`."""

from __future__ import annotations

import numpy as np

from nmt.exporting.onnx.graph import Graph, Value
from nmt.exporting.onnx.operations import length, squeeze
from nmt.exporting.onnx.quantizing import float_rows, in_blocks, whole_product, whole_product_among


class Table:
    """Vectors of pieces, [pieces, width].

    Args:
        graph: the graph that holds the table.
        vectors: float32 [pieces, width].
    """

    def __init__(self, graph: Graph, vectors: np.ndarray) -> None:
        self.graph, self.vectors = graph, vectors
        self.blocks = in_blocks(vectors, graph.in_browser, one_scale=True) if graph.precision == "int8" else None

    def embed(self, ids: Value, axes: int = 1) -> Value:
        """Embeddings of ids, scaled as `nmt.network.model.Seq2Seq.embed` scales them.

        Args:
            axes: of the ids.
        """
        if self.blocks is not None:
            rows = float_rows(self.graph, self.blocks, ids, axes)
        else:
            rows = self.graph.op("Gather", self.vectors, ids)
        return rows * float(self.vectors.shape[1]) ** 0.5

    def logits(self, readouts: Value, bias: np.ndarray, among: Value) -> Value:
        """Logits of all pieces, or of the pieces `among`, int32 [any], if there are any: float32 [rows, pieces]."""
        biases = self.graph.constant(bias)

        def of_all() -> Value:
            if self.blocks is not None:
                return whole_product(readouts, self.blocks, bias)
            return self.graph.op("Gemm", readouts, self.vectors, biases, transB=1)

        def of_some() -> Value:
            some = self.graph.op("Gather", biases, among)
            if self.blocks is not None:
                return whole_product_among(readouts, self.blocks, among) + some
            return self.graph.op("Gemm", readouts, self.graph.op("Gather", self.vectors, among), some, transB=1)

        everything = squeeze(self.graph.op("Equal", length(among, 0), np.array(0)), 0)
        return self.graph.choose(everything, of_all, of_some)
