"""The windows of attention; see `nmt.network.attention.windows`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from nmt.config import AttentionConfig
from nmt.exporting.onnx.graph import Value
from nmt.exporting.onnx.operations import arange, cast, length, masked_softmax, unsqueeze
from nmt.exporting.weights import Weights


class WindowInputs(NamedTuple):
    """The inputs of a window besides energies and mask."""

    query: Value
    """[rows, width]."""
    time: Value | None
    """Number of steps before this one, int32 [rows], for windows that read it."""
    weights: Weights
    """Of the window."""
    config: AttentionConfig


def global_window(energies: Value, mask: Value, inputs: WindowInputs) -> Value:
    """Attention to all positions: [rows, positions]."""
    return masked_softmax(energies, mask)


def monotonic_window(energies: Value, mask: Value, inputs: WindowInputs) -> Value:
    """Attention around the step's own position, or around the last one after the end."""
    assert inputs.time is not None
    time = cast(unsqueeze(inputs.time, 1), "float32")
    distances = _positions(mask) - mask.graph.op("Min", time, _last_position(mask))
    return masked_softmax(energies, _within(mask, distances, inputs.config.reach))


def predictive_window(energies: Value, mask: Value, inputs: WindowInputs) -> Value:
    """Attention around a predicted position, with a Gaussian around it."""
    graph, weights, reach = mask.graph, inputs.weights, inputs.config.reach
    hidden = graph.op("Tanh", inputs.query @ weights["centre_kernel"])
    centre = _last_position(mask) * graph.op("Sigmoid", hidden @ weights["centre_vector"])
    distances = _positions(mask) - centre
    scaled = distances / float(reach)
    return masked_softmax(energies - scaled * scaled * 2.0, _within(mask, distances, reach))


def hard_window(energies: Value, mask: Value, inputs: WindowInputs) -> Value:
    """All attention at the position with the greatest energy."""
    graph = mask.graph
    chosen = graph.op("ArgMax", masked_softmax(energies, mask), axis=-1, keepdims=1)
    hard = cast(graph.op("Equal", arange(length(mask, 1)), chosen), "float32")
    return graph.op("Where", mask, hard, 0.0)


WINDOWS: dict[str, Callable[[Value, Value, WindowInputs], Value]] = {
    "global": global_window,
    "local_m": monotonic_window,
    "local_p": predictive_window,
    "hard": hard_window,
}
"""The exported windows by their names in the configuration."""

TIMED = ("local_m",)
"""Windows that read the number of the step."""


def _positions(mask: Value) -> Value:
    """The number of each position, float32 [positions]."""
    return cast(arange(length(mask, 1)), "float32")


def _last_position(mask: Value) -> Value:
    """The number of the last true position, float32 [rows, 1]."""
    graph = mask.graph
    return graph.op("ReduceMax", graph.op("Where", mask, _positions(mask), 0.0), np.array([1]), keepdims=1)


def _within(mask: Value, distances: Value, reach: int) -> Value:
    """The real positions at most `reach` away."""
    graph = mask.graph
    near = graph.op("LessOrEqual", graph.op("Abs", distances), float(reach))
    return graph.op("And", mask, near)
