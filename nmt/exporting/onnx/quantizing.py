"""Graphs in int8, by ONNX Runtime's dynamic quantization: values are rounded when a product is computed."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

PRODUCTS = ["MatMul", "LSTM"]
"""Operators whose weights are rounded."""

FEW_COLUMNS = 8
"""Matrices with fewer columns stay in float32: they cost little, and their products are energies and positions of
attention."""


def quantized(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of a graph whose weight matrices are int8, with one scale for each column."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata

    add_pre_process_metadata(proto)  # it has no operators to merge, which ONNX Runtime otherwise warns of
    columns = {weight.name: weight.dims[-1] for weight in proto.graph.initializer if len(weight.dims) > 1}
    excluded = [node.name for node in proto.graph.node if columns.get(_second(node), FEW_COLUMNS) < FEW_COLUMNS]
    with TemporaryDirectory() as place:
        path = Path(place) / "graph.onnx"
        quantize_dynamic(
            proto,
            path,
            op_types_to_quantize=PRODUCTS,
            per_channel=True,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=excluded,
            extra_options={"MatMulConstBOnly": True},
        )
        found = onnx.load(path)
    del found.graph.value_info[:]
    found.producer_name, found.producer_version = proto.producer_name, proto.producer_version
    return found


def _second(node: onnx.NodeProto) -> str:
    """The name of a node's second input."""
    return node.input[1] if len(node.input) > 1 else ""
