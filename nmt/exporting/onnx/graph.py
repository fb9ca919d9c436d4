"""A writer of ONNX graphs, in which values are added and multiplied as arrays are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

from nmt.exporting.onnx.quantizing import MICROSOFT, MICROSOFT_OPSET, float_rows, in_blocks, is_kernel, whole_product
from nmt.exporting.weights import exceeds_half
from nmt.version import __version__

OPSET = 18
"""The version of ONNX's operators."""

IR_VERSION = 9
"""The version of ONNX's files that the operators need."""

SMALL = 256
"""Values of the smallest weight that is stored in fewer bits."""


class Value(NamedTuple):
    """A value of a graph. Arithmetic with it adds operators to the graph; numbers become float32 constants."""

    graph: Graph
    name: str

    def __add__(self, other: Any) -> Value:
        return self.graph.op("Add", self, other)

    def __sub__(self, other: Any) -> Value:
        return self.graph.op("Sub", self, other)

    def __mul__(self, other: Any) -> Value:
        return self.graph.op("Mul", self, other)

    def __truediv__(self, other: Any) -> Value:
        return self.graph.op("Div", self, other)

    def __matmul__(self, other: Any) -> Value:
        if self.graph.precision == "int8" and is_kernel(other):
            return whole_product(self, in_blocks(other.T, self.graph.in_browser))
        return self.graph.op("MatMul", self, other)


class Graph:
    """A graph while it is written.

    Args:
        name: of the graph.
        precision: of the weights, see `nmt.run.exported.PRECISIONS`.
        in_browser: whether a browser computes the graph; see `quantizing`.
    """

    def __init__(self, name: str, precision: str = "float32", in_browser: bool = False) -> None:
        self.name, self.precision, self.in_browser = name, precision, in_browser
        self._nodes: list[onnx.NodeProto] = []
        self._casts: list[onnx.NodeProto] = []
        self._count = 0
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._constants: dict[tuple[Any, ...], str] = {}
        self._initializers: list[onnx.TensorProto] = []

    def input(self, name: str, dtype: str, shape: Sequence[str | int]) -> Value:
        """An input; axes of any length have names."""
        self._inputs.append(_declaration(name, dtype, shape))
        return Value(self, name)

    def output(self, name: str, value: Value, dtype: str, shape: Sequence[str | int]) -> None:
        """Makes a value an output of the graph."""
        self._nodes.append(helper.make_node("Identity", [value.name], [name]))
        self._outputs.append(_declaration(name, dtype, shape))

    def constant(self, values: Any) -> Value:
        """An array or a number; equal ones are stored once. Floats are float32, and other numbers keep their type."""
        array = np.asarray(values)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self._store(array)
        return Value(self, self._constants[key])

    def stored(self, weights: np.ndarray) -> Value:
        """Weights [..., width] of an operator that reads float32. ONNX Runtime computes them once, when it loads the
        graph."""
        if self.precision != "int8" or weights.size < SMALL:
            return self.constant(weights)
        rows = float_rows(self, in_blocks(weights.reshape(-1, weights.shape[-1]), self.in_browser))
        return self.op("Reshape", rows, np.array(weights.shape))

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> Value:
        """The output of an operator. Inputs that are no values become constants; None leaves an input out."""
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(self, kind: str, count: int, *inputs: Any, **attributes: Any) -> list[Value]:
        """The outputs of an operator that has several."""
        names = ["" if value is None else self._value(value).name for value in inputs]
        self._count += 1
        outputs = [f"{kind}_{self._count}_{index}" for index in range(count)]
        self._nodes.append(helper.make_node(kind, names, outputs, name=f"{kind}_{self._count}", **attributes))
        return [Value(self, name) for name in outputs]

    def choose(self, condition: Value, one: Callable[[], Value], other: Callable[[], Value]) -> Value:
        """The value of the first function if the condition is true, otherwise that of the second: float32."""
        branches, outer = {}, self._nodes
        for name, function in {"then_branch": one, "else_branch": other}.items():
            self._nodes = []
            result = function().name
            declared = helper.make_tensor_value_info(result, onnx.TensorProto.FLOAT, None)
            branches[name] = helper.make_graph(self._nodes, name, [], [declared])
        self._nodes = outer
        return self.op("If", condition, **branches)

    def proto(self) -> onnx.ModelProto:
        """The graph as ONNX stores it.

        Raises:
            onnx.checker.ValidationError: the graph is not valid.
        """
        graph = helper.make_graph(
            [*self._casts, *self._nodes], self.name, self._inputs, self._outputs, self._initializers
        )
        proto = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, MICROSOFT_OPSET)],
            ir_version=IR_VERSION,
            producer_name="nmt",
            producer_version=__version__,
        )
        onnx.checker.check_model(proto)
        return proto

    def _value(self, value: Any) -> Value:
        return value if isinstance(value, Value) else self.constant(value)

    def _store(self, array: np.ndarray) -> str:
        """Stores an array in the graph and returns the name of its value."""
        name = f"weight_{len(self._initializers)}"
        if self.precision != "float16" or array.dtype != np.float32 or array.size < SMALL or exceeds_half(array):
            self._initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
            return name
        self._initializers.append(numpy_helper.from_array(array.astype(np.float16), name))
        self._casts.append(helper.make_node("Cast", [name], [f"{name}_float32"], to=onnx.TensorProto.FLOAT))
        return f"{name}_float32"


def _declaration(name: str, dtype: str, shape: Sequence[str | int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), list(shape))
