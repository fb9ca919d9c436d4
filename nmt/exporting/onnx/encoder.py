"""The encoders; see `nmt.network.encoder`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmt.exporting.onnx.graph import Value
from nmt.exporting.onnx.operations import reshape, transpose
from nmt.exporting.weights import Weights


class Encoded(NamedTuple):
    """The output of an encoder."""

    memory: Value
    """[batch, positions, width]; zero at the padding of a recurrent encoder."""
    final: Value
    """The first decoder state is computed from it, [batch, width]."""


def bidirectional_lstms(words: Value, lengths: Value, weights: Weights, layers: int) -> Encoded:
    """A stack of bidirectional LSTMs.

    Args:
        words: embedded source, [batch, positions, width].
        lengths: int32 [batch].
    """
    values = transpose(words, 1, 0, 2)
    for layer in range(1, layers + 1):
        states, last = _layer(values, lengths, weights.part(f"layer_{layer}"))
        values = reshape(transpose(states, 0, 2, 1, 3), 0, 0, -1)  # [positions, batch, width]
    return Encoded(transpose(values, 1, 0, 2), reshape(transpose(last, 1, 0, 2), 0, -1))


def _layer(values: Value, lengths: Value, weights: Weights) -> tuple[Value, Value]:
    """One bidirectional LSTM: states [positions, 2, batch, units] and last states [2, batch, units]."""
    cells = [weights.part(f"{direction}/lstm_cell") for direction in ("forward", "backward")]
    kernels, recurrent = (np.stack([_gates(cell[name].T) for cell in cells]) for name in ("kernel", "recurrent_kernel"))
    biases = np.stack([_gates(cell["bias"]) for cell in cells])
    biases = np.concatenate([biases, np.zeros_like(biases)], axis=1)  # ONNX adds a second bias to the recurrent product
    states, last = values.graph.ops(
        "LSTM",
        2,
        *(values, values.graph.stored(kernels), values.graph.stored(recurrent), biases, lengths),
        direction="bidirectional",
        hidden_size=recurrent.shape[-1],
    )
    return states, last


def _gates(rows: np.ndarray) -> np.ndarray:
    """Gates in the order of ONNX, from input gate, forget gate, candidate and output gate; [4 units, ...]."""
    inputs, forget, candidate, output = np.split(rows, 4)
    return np.concatenate([inputs, output, forget, candidate])
