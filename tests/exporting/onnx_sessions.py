"""Runs the graphs of an export, and a Keras model beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from keras import ops

from nmt.exporting.onnx.model import Graphs, onnx_graphs
from nmt.network.weights import variables_to_arrays
from nmt.run.exported import NEXT
from nmt.text.pieces import BOS
from nmt.translation.inference.exported_model import session_options

Arrays = dict[str, np.ndarray]


class Step(NamedTuple):
    """The result of one step."""

    logits: np.ndarray
    weights: np.ndarray


def session_of(proto: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """A graph, computed as exports are."""
    return onnxruntime.InferenceSession(proto.SerializeToString(), session_options(), ["CPUExecutionProvider"])


def run_graph(proto: onnx.ModelProto, inputs: Arrays) -> Arrays:
    """The outputs of a graph by name."""
    session = session_of(proto)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def onnx_steps(graphs: Graphs, source: np.ndarray, targets: np.ndarray, among: Sequence[int] = ()) -> list[Step]:
    """Logits, of some pieces or of all, and attention of the steps that read these pieces, [rows, steps], after BOS."""
    values, steps = run_graph(graphs.encoder, {"source": source}), []
    session = session_of(graphs.step)
    names = [output.name for output in session.get_outputs()]
    for pieces in _inputs(targets):
        read = {spec.name: values[spec.name] for spec in (*graphs.state, *graphs.encoded)}
        found = dict(
            zip(names, session.run(names, {"pieces": pieces, "among": np.array(among, np.int32), **read}), strict=True)
        )
        steps.append(Step(found["logits"], found["weights"]))
        values |= {spec.name: found[NEXT + spec.name] for spec in graphs.state}
    return steps


def keras_steps(model: Any, source: np.ndarray, targets: np.ndarray) -> list[Step]:
    """The same of a Keras model."""
    (state, encoded), steps = model.start(source, targets.shape[1] + 1), []
    for pieces in _inputs(targets):
        readout, state = model.step(pieces, state, encoded)
        steps.append(Step(*map(ops.convert_to_numpy, (model.logits(readout), state.weights))))
    return steps


def graphs_of(model: Any, precision: str = "float32", in_browser: bool = False) -> Graphs:
    """The graphs of a Keras model."""
    return onnx_graphs(model.config, variables_to_arrays(model.trainable_variables), precision, in_browser)


def assert_equal_steps(found: Sequence[Step], expected: Sequence[Step], tolerance: float) -> None:
    """Asserts that logits, relative to the largest, and attention are equal."""
    for one, other in zip(found, expected, strict=True):
        scale = max(1.0, float(np.abs(other.logits).max()))
        np.testing.assert_allclose(one.logits / scale, other.logits / scale, rtol=0, atol=tolerance)
        np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=tolerance)


def _inputs(targets: np.ndarray) -> Iterator[np.ndarray]:
    """The pieces that each step reads."""
    return iter(np.concatenate([np.full((len(targets), 1), BOS, np.int32), targets], axis=1).T)
