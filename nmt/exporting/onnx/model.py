"""The two graphs of a model: the encoder, and one step of the decoder; see `nmt.run.exported`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import onnx

from nmt.config import ModelConfig
from nmt.exporting.onnx.decoder import RecurrentDecoder, Values
from nmt.exporting.onnx.encoder import bidirectional_lstms
from nmt.exporting.onnx.graph import Graph
from nmt.exporting.onnx.operations import cast, squeeze, total
from nmt.exporting.onnx.table import Table
from nmt.exporting.onnx.tensors import encoded_tensors, state_tensors
from nmt.exporting.onnx.transformer import TransformerDecoder, transformer_encoder
from nmt.exporting.weights import Weights
from nmt.run.exported import NEXT, TensorSpec
from nmt.text.pieces import PAD

Decoder = RecurrentDecoder | TransformerDecoder

Specs = Sequence[TensorSpec]


class Graphs(NamedTuple):
    """A model in ONNX."""

    encoder: onnx.ModelProto
    step: onnx.ModelProto
    state: Specs
    """The state of the decoder, which each step reads and replaces."""
    encoded: Specs
    """The encoded source, which each step reads."""


def onnx_graphs(
    config: ModelConfig, arrays: Mapping[str, np.ndarray], precision: str = "float32", in_browser: bool = False
) -> Graphs:
    """The graphs of a network with these weights.

    Args:
        arrays: weights by name.
        precision: of the weights, see `nmt.run.exported.PRECISIONS`.
        in_browser: whether a browser computes the graphs.
    """
    weights, specs = Weights(arrays), (state_tensors(config), encoded_tensors(config))
    kind = TransformerDecoder if config.architecture == "transformer" else RecurrentDecoder
    decoder = kind(config, weights.part("decoder"))
    encoder = _encoder_graph(Graph("encoder", precision, in_browser), config, weights, decoder, *specs)
    step = _step_graph(Graph("step", precision, in_browser), config, weights, decoder, *specs)
    return Graphs(encoder, step, *specs)


def _encoder_graph(
    graph: Graph, config: ModelConfig, weights: Weights, decoder: Decoder, state: Specs, encoded: Specs
) -> onnx.ModelProto:
    """source ids -> first state and encoded source."""
    source = graph.input("source", "int32", ("rows", "positions"))
    mask = graph.op("Not", graph.op("Equal", source, np.array(PAD, np.int32)))
    lengths = graph.op("Max", squeeze(total(cast(mask, "int32"), 1), 1), np.array(1, np.int32))
    side = "target" if config.tie == "all" else "source"
    words = Table(graph, weights[f"{side}_embedding/embeddings"]).embed(source, axes=2)
    if config.architecture == "rnn":
        found = bidirectional_lstms(words, lengths, weights.part("encoder"), config.encoder_layers)
    else:
        found = transformer_encoder(words, lengths, weights.part("encoder"), config)
    first = decoder.initial_state(found, mask, lengths)
    _declare_outputs(graph, first | decoder.source(found, mask, words), [*state, *encoded])
    return graph.proto()


def _step_graph(
    graph: Graph, config: ModelConfig, weights: Weights, decoder: Decoder, state: Specs, encoded: Specs
) -> onnx.ModelProto:
    """Last pieces, state and encoded source -> logits, attention and next state."""
    pieces, among = graph.input("pieces", "int32", ("rows",)), graph.input("among", "int32", ("columns",))
    states, source = ({spec.name: graph.input(*spec) for spec in specs} for specs in (state, encoded))
    table = Table(graph, weights["target_embedding/embeddings"])
    stepped = decoder.step(table.embed(pieces), states, source)
    output = Table(graph, weights["output_kernel"]) if config.tie == "none" else table
    logits = output.logits(stepped.readout, weights["output_bias"], among)
    graph.output("logits", logits, "float32", ("rows", "columns"))
    graph.output("weights", stepped.weights, "float32", ("rows", "positions"))
    _declare_outputs(graph, stepped.state, state, NEXT)
    return graph.proto()


def _declare_outputs(graph: Graph, values: Values, specs: Specs, prefix: str = "") -> None:
    """Makes each tensor an output; an axis that grows in a step has another name behind it."""
    for name, dtype, axes in specs:
        names = [f"{prefix}{axis}" if axis == "steps" else axis for axis in axes]
        graph.output(prefix + name, values[name], dtype, names)
