"""The source words in the read-out; see `nmt.network.readout`."""

from __future__ import annotations

from nmt.exporting.onnx.graph import Value
from nmt.exporting.onnx.operations import context_vectors, linear
from nmt.exporting.weights import Weights


def add_attended_words(readout: Value, weights: Weights, attention: Value, words: Value) -> Value:
    """The read-out [rows, width] with the attended source words.

    Args:
        weights: of the layer that reads the words.
        attention: [rows, positions].
        words: embeddings of the source pieces, [rows, positions, embedding].
    """
    lexical = linear(context_vectors(attention, words), weights)
    return readout + lexical.graph.op("Tanh", lexical)
