"""The recurrent decoders; see `nmt.network.decoder`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nmt.config import ModelConfig
from nmt.exporting.onnx.encoder import Encoded
from nmt.exporting.onnx.graph import Value
from nmt.exporting.onnx.operations import (
    context_vectors,
    length,
    linear,
    masked_zeros,
    split,
    unsqueeze,
)
from nmt.exporting.onnx.readout import add_attended_words
from nmt.exporting.onnx.scores import Score, score_of
from nmt.exporting.onnx.windows import TIMED, WINDOWS, WindowInputs
from nmt.exporting.weights import Weights

Values = dict[str, Value]
"""Values of a graph by name."""


class Stepped(NamedTuple):
    """The result of a decoder step."""

    readout: Value
    """[rows, readout]."""
    weights: Value
    """Attention, [rows, positions]."""
    state: Values
    """The next state."""


@dataclass
class RecurrentDecoder:
    """A recurrent decoder of either kind, written into the two graphs.

    Args:
        config: of the network.
        weights: of the decoder.
    """

    config: ModelConfig
    weights: Weights

    @property
    def score(self) -> Score | None:
        attention = self.config.attention
        if attention.score == "none":
            return None
        return score_of(attention.score, self.weights.part("attention/score"), self.config.memory_width)

    def source(self, encoded: Encoded, mask: Value, words: Value) -> Values:
        """The parts of the encoded source that each step reads."""
        if self.score is None:
            return {"final": encoded.final, "mask": mask}
        parts = {"memory": encoded.memory, "mask": mask}
        if keys := self.score.keys(encoded.memory):
            parts["keys"] = keys
        if self.config.words_in_readout:
            parts["words"] = words
        return parts

    def initial_state(self, encoded: Encoded, mask: Value, lengths: Value) -> Values:
        """The state before the first step."""
        graph, bridge = mask.graph, linear(encoded.final, self.weights.part("bridge"))
        state = {"hidden": graph.op("Tanh", bridge)}
        if self.config.cell == "lstm":
            state["cell"] = state["hidden"] * 0.0
        if self._is_fed:
            shape = graph.op("Concat", length(mask, 0), np.array([1]), axis=0)
            state["attentional"] = graph.op("Expand", np.zeros((1, self.config.readout_width), np.float32), shape)
        if self.config.attention.window in TIMED:
            state["time"] = lengths * np.array(0, np.int32)
        if self.config.attention.coverage:
            state["coverage"] = masked_zeros(mask)
        return state

    def step(self, embedded: Value, state: Values, source: Values) -> Stepped:
        """One step, from the embedding of the previous piece [rows, embedding]."""
        luong = self.config.decoder == "luong"
        stepped = self._luong(embedded, state, source) if luong else self._bahdanau(embedded, state, source)
        if "time" in state:
            stepped.state["time"] = state["time"] + np.array(1, np.int32)
        if "coverage" in state:
            stepped.state["coverage"] = state["coverage"] + stepped.weights
        if "words" in source:
            words = self.weights.part("words")
            readout = add_attended_words(stepped.readout, words, stepped.weights, source["words"])
            return stepped._replace(readout=readout)
        return stepped

    @property
    def _is_fed(self) -> bool:
        return self.config.decoder == "luong" and self.config.input_feeding

    def _bahdanau(self, embedded: Value, state: Values, source: Values) -> Stepped:
        """Attention with the previous state; the context enters the recurrence."""
        context, weights = self._attend(state["hidden"], embedded, state, source)
        inputs = embedded @ self.weights["embedding_kernel"] + context @ self.weights["context_kernel"]
        cell = self._advance(inputs + self.weights["gate_bias"], state)
        return Stepped(self._readout(cell["hidden"], context, embedded), weights, cell)

    def _luong(self, embedded: Value, state: Values, source: Values) -> Stepped:
        """Attention with the new state; the attentional vector is the read-out."""
        inputs = embedded @ self.weights["embedding_kernel"]
        if self._is_fed:
            inputs = inputs + state["attentional"] @ self.weights["context_kernel"]
        cell = self._advance(inputs + self.weights["gate_bias"], state)
        context, weights = self._attend(cell["hidden"], None, state, source)
        readout = self._readout(cell["hidden"], context)
        return Stepped(readout, weights, {**cell, "attentional": readout} if self._is_fed else cell)

    def _attend(self, query: Value, embedded: Value | None, state: Values, source: Values) -> tuple[Value, Value]:
        """Context vector and attention weights."""
        if self.score is None:
            return source["final"], masked_zeros(source["mask"])
        config, attention = self.config.attention, self.weights.part("attention")
        keys = source.get("keys", source["memory"])
        projected = self.score.project(query)
        if embedded is not None and self.config.piece_in_query:
            projected = projected + embedded @ self.weights["query_kernel"]
        if config.coverage:
            keys = keys + unsqueeze(state["coverage"], 2) * attention["coverage_kernel"]
        energies = self.score.compare(projected, keys)
        inputs = WindowInputs(query, state.get("time"), attention.part("window"), config)
        weights = WINDOWS[config.window](energies, source["mask"], inputs)
        return context_vectors(weights, source["memory"]), weights

    def _advance(self, inputs: Value, state: Values) -> Values:
        """Hidden state, and cell state of an LSTM, after a step with these inputs of the gates."""
        recurrent = state["hidden"] @ self.weights["state_kernel"]
        if self.config.cell == "lstm":
            return _lstm(inputs + recurrent, state["cell"])
        return {"hidden": _gru(inputs, recurrent, self.weights["state_bias"], state["hidden"])}

    def _readout(self, *parts: Value) -> Value:
        graph = parts[0].graph
        return graph.op("Tanh", linear(graph.op("Concat", *parts, axis=-1), self.weights.part("readout")))


def _gru(inputs: Value, recurrent: Value, bias: np.ndarray, hidden: Value) -> Value:
    """See `nmt.network.recurrence.gru`."""
    graph = inputs.graph
    input_update, input_reset, input_candidate = split(inputs, 3)
    state_update, state_reset, state_candidate = split(recurrent, 3)
    update = graph.op("Sigmoid", input_update + state_update)
    reset = graph.op("Sigmoid", input_reset + state_reset)
    candidate = graph.op("Tanh", input_candidate + reset * (state_candidate + bias))
    return hidden + update * (candidate - hidden)


def _lstm(gates: Value, cell: Value) -> Values:
    """See `nmt.network.recurrence.lstm`."""
    graph = gates.graph
    inputs, forget, candidate, output = split(gates, 4)
    kept = graph.op("Sigmoid", forget) * cell
    cell = kept + graph.op("Sigmoid", inputs) * graph.op("Tanh", candidate)
    return {"hidden": graph.op("Sigmoid", output) * graph.op("Tanh", cell), "cell": cell}
