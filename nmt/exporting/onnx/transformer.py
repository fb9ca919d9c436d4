"""The Transformer; see `nmt.network.transformer` and `nmt.network.attention.multi_head`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nmt.config import ModelConfig
from nmt.exporting.onnx.decoder import Stepped, Values
from nmt.exporting.onnx.encoder import Encoded
from nmt.exporting.onnx.graph import Value
from nmt.exporting.onnx.operations import (
    arange,
    cast,
    context_vectors,
    length,
    linear,
    masked_softmax,
    reshape,
    split,
    squeeze,
    transpose,
    unsqueeze,
)
from nmt.exporting.onnx.readout import add_attended_words
from nmt.exporting.weights import EPSILON, Weights, sinusoid_rates


def transformer_encoder(words: Value, lengths: Value, weights: Weights, model: ModelConfig) -> Encoded:
    """A stack of self-attention layers.

    Args:
        words: embedded source, [batch, positions, width].
        lengths: int32 [batch].
    """
    graph, config, numbers = words.graph, model.transformer, arange(length(words, 1))
    mask = graph.op("Less", cast(numbers, "int32"), unsqueeze(lengths, 1))
    head_mask = unsqueeze(mask, 1, 2)
    values = add_positions(words, numbers, weights.part("positions"), model)
    for number in range(1, config.encoder_layers + 1):
        layer = weights.part(f"layer_{number}")
        attention = MultiHead(layer.part("self_attention"), config.heads)
        queries, keys, inputs = attention.project(normalize(values, layer.part("self_attention_norm")), *PARTS)
        values = values + attention.attend(queries, keys, inputs, head_mask)[0]
        values = feed_forward(values, layer)
    memory = normalize(values, weights.part("norm"))
    shares = cast(mask, "float32") / unsqueeze(cast(lengths, "float32"), 1)
    return Encoded(memory, context_vectors(shares, memory))


@dataclass
class TransformerDecoder:
    """The Transformer decoder, written into the two graphs.

    Args:
        config: of the network.
        weights: of the decoder.
    """

    config: ModelConfig
    weights: Weights

    def __post_init__(self) -> None:
        self.sizes = self.config.transformer
        self.layers = [self.weights.part(f"layer_{i + 1}") for i in range(self.sizes.decoder_layers)]

    def source(self, encoded: Encoded, mask: Value, words: Value) -> Values:
        """Keys and values of the memory for each layer."""
        parts = {"mask": mask}
        for number, layer in enumerate(self.layers, 1):
            attention = MultiHead(layer.part("attention"), self.sizes.heads)
            keys, values = attention.project(encoded.memory, "key", "value")
            parts |= {f"source_keys_{number}": keys, f"source_values_{number}": values}
        if self.config.words_in_readout:
            parts["words"] = words
        return parts

    def initial_state(self, encoded: Encoded, mask: Value, lengths: Value) -> Values:
        """No step yet, and empty caches."""
        graph, width = mask.graph, self.config.embedding // self.sizes.heads
        shape = graph.op("Concat", length(mask, 0), np.array([self.sizes.heads, 0, width]), axis=0)
        empty = graph.op("ConstantOfShape", shape)
        state = {"time": lengths * np.array(0, np.int32)}
        for number in range(1, len(self.layers) + 1):
            state |= {f"past_keys_{number}": empty, f"past_values_{number}": empty}
        return state

    def step(self, embedded: Value, state: Values, source: Values) -> Stepped:
        """One step, from the embedding of the previous piece [rows, width]."""
        values = add_positions(embedded, state["time"], self.weights.part("positions"), self.config)
        following: Values = {}
        values, weights = unsqueeze(values, 1), []
        mask = unsqueeze(source["mask"], 1, 2)
        for number, layer in enumerate(self.layers, 1):
            attention = MultiHead(layer.part("self_attention"), self.sizes.heads)
            queries, *new = attention.project(normalize(values, layer.part("self_attention_norm")), *PARTS)
            names = f"past_keys_{number}", f"past_values_{number}"
            past = [_append(state[name], one) for name, one in zip(names, new, strict=True)]
            following |= dict(zip(names, past, strict=True))
            values = values + attention.attend(queries, past[0], past[1], None)[0]
            attention = MultiHead(layer.part("attention"), self.sizes.heads)
            (queries,) = attention.project(normalize(values, layer.part("attention_norm")), "query")
            keys, memory = source[f"source_keys_{number}"], source[f"source_values_{number}"]
            output, alignment = attention.attend(queries, keys, memory, mask)
            weights.append(alignment)
            values = feed_forward(values + output, layer)
        following["time"] = state["time"] + np.array(1, np.int32)
        return self._stepped(values, weights, following, source)

    def _stepped(self, values: Value, weights: list[Value], state: Values, source: Values) -> Stepped:
        """Read-out and alignment of a step with this output of the last layer."""
        readout = squeeze(normalize(values, self.weights.part("norm")), 1)
        heads = weights[(self.sizes.alignment_layer or len(self.layers)) - 1]
        alignment = squeeze(heads.graph.op("ReduceMean", heads, np.array([1]), keepdims=0), 1)
        if "words" in source:
            readout = add_attended_words(readout, self.weights.part("words"), alignment, source["words"])
        return Stepped(readout, alignment, state)


PARTS = "query", "key", "value"


@dataclass
class MultiHead:
    """Multi-head attention with these weights."""

    weights: Weights
    heads: int

    def project(self, values: Value, *names: str) -> list[Value]:
        """Projections of values [rows, positions, width], each [rows, heads, positions, width / heads].

        Args:
            names: of the projections; they are computed as one product.
        """
        kernel = np.concatenate([self.weights[f"{name}_kernel"] for name in names], axis=1)
        bias = np.concatenate([self.weights[f"{name}_bias"] for name in names])
        size = kernel.shape[1] // len(names) // self.heads
        parts = transpose(reshape(values @ kernel + bias, 0, 0, len(names), self.heads, size), 2, 0, 3, 1, 4)
        return [squeeze(part, 0) for part in split(parts, len(names), axis=0)]

    def attend(self, queries: Value, keys: Value, values: Value, mask: Value | None) -> tuple[Value, Value]:
        """Output [rows, queries, width] and weights [rows, heads, queries, positions].

        Args:
            queries, keys, values: from `project`.
            mask: bool, broadcastable to the weights; None: all positions.
        """
        size = self.weights["query_kernel"].shape[1] // self.heads
        energies = queries @ transpose(keys, 0, 1, 3, 2) / float(size) ** 0.5
        weights = queries.graph.op("Softmax", energies, axis=-1) if mask is None else masked_softmax(energies, mask)
        merged = reshape(transpose(weights @ values, 0, 2, 1, 3), 0, 0, -1)
        return merged @ self.weights["output_kernel"] + self.weights["output_bias"], weights


def normalize(values: Value, weights: Weights) -> Value:
    """Layer normalisation over the last axis."""
    return values.graph.op("LayerNormalization", values, weights["gamma"], weights["beta"], axis=-1, epsilon=EPSILON)


def feed_forward(values: Value, layer: Weights) -> Value:
    """Values [rows, positions, width] plus the feed-forward sublayer."""
    hidden = linear(normalize(values, layer.part("feed_forward_norm")), layer.part("hidden"))
    return values + linear(hidden.graph.op("Relu", hidden), layer.part("output"))


def add_positions(values: Value, numbers: Value, weights: Weights, model: ModelConfig) -> Value:
    """Values [..., positions, width] plus the encodings of these positions, integers [positions]."""
    graph, config, width = values.graph, model.transformer, model.embedding
    if config.positions == "learned":
        numbers = graph.op("Min", cast(numbers, "int64"), np.array(config.longest - 1))
        return values + graph.op("Gather", weights["table"], numbers)
    angles = unsqueeze(cast(numbers, "float32"), 1) * sinusoid_rates(width)
    pairs = [unsqueeze(graph.op(wave, angles), 2) for wave in ("Sin", "Cos")]
    return values + reshape(graph.op("Concat", *pairs, axis=2), 0, -1)


def _append(past: Value, new: Value) -> Value:
    return past.graph.op("Concat", past, new, axis=2)
