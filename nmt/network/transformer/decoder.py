"""The Transformer decoder."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.key_value_cache import append_step, initial_length
from nmt.backend.shapes import axis_length
from nmt.network.attention import KeysValues, causal_mask
from nmt.network.readout import add_attended_words, attended_words_layer
from nmt.network.transformer.layers import DecoderLayer, LayerStack


class TransformerSource(NamedTuple):
    """An encoded source sentence as the decoder reads it, the same at every step."""

    layers: tuple[KeysValues, ...]
    """Keys and values of the memory for each decoder layer."""
    mask: Tensor
    """Boolean [batch, positions], true at real positions."""
    words: Tensor | tuple[()] = ()
    """Embeddings of the source pieces, [batch, positions, width]; () if the read-out does not use them."""


class TransformerState(NamedTuple):
    """The state after one step of search. Search reorders it along the batch and reads `weights`."""

    output: Tensor
    """Output of the last layer at this step, [batch, width]."""
    weights: Tensor
    """Attention to the source, the mean of the heads of the alignment layer, float32 [batch, positions]."""
    time: Tensor
    """Number of completed steps, int32 [batch]."""
    layers: tuple[KeysValues, ...]
    """Cached keys and values of the completed steps for each layer, [batch, heads, steps, width / heads]; see
    `backend.key_value_cache` for the number of steps."""


@keras.saving.register_keras_serializable("nmt")
class TransformerDecoder(LayerStack):
    """A stack of layers with self-attention over the target prefix and attention to the source.

    Training computes all steps at once. A step of search reads the keys and values of the steps before it from its
    state.

    Args:
        words_in_readout: whether the read-out uses the source words that the alignment layer attends to, besides the
            output of the last layer (`readout.add_attended_words`).
    """

    layer_type = DecoderLayer

    def __init__(self, *args: Any, words_in_readout: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.words_in_readout = words_in_readout

    def build(self, values_shape: tuple, *_: Any) -> None:
        if self.words_in_readout:
            self.words_layer = attended_words_layer(values_shape[-1], self.dtype_policy)
            self.words_layer.build(values_shape)
        super().build(values_shape)

    @property
    def depth(self) -> int:
        return self.config.decoder_layers

    @property
    def alignment_index(self) -> int:
        """Index of the layer whose attention is the alignment, from 0."""
        return (self.config.alignment_layer or self.depth) - 1

    def call(
        self,
        embedded: Tensor,
        memory: Tensor,
        final: Tensor,
        mask: Tensor,
        words: Tensor | None = None,
        training: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Teacher forcing: all steps of a target sentence whose pieces are known.

        Args:
            embedded: embeddings of the target shifted right, [batch, steps, width].
            memory: memory of the encoder, [batch, positions, width].
            final: final state of the encoder, [batch, width]; unused.
            mask: boolean [batch, positions], true at real positions.
            words: embeddings of the source pieces, [batch, positions, width]; for `words_in_readout`.

        Returns:
            Read-outs [batch, steps, width] and attention weights, float32 [batch, steps, positions].
        """
        source = self.source(memory, final, mask, words)
        steps = ops.shape(embedded)[1]
        values, weights = self.positions(embedded, ops.arange(steps, dtype="int32")), []
        past_mask, source_mask = causal_mask(steps), mask[:, None, None]
        for layer, memories in zip(self.layers, source.layers, strict=True):
            projections = layer.project_steps(values)
            values, attention = layer(values, *projections, past_mask, memories, source_mask, training=training)
            weights.append(attention)
        alignment = ops.mean(weights[self.alignment_index], axis=1)
        return self._readout(self.norm(values), alignment, source), alignment

    def source(self, memory: Tensor, final: Tensor, mask: Tensor, words: Tensor | None = None) -> TransformerSource:
        """The source sentence as each step reads it, computed once. The final state is unused."""
        layers = tuple(layer.project_memory(memory) for layer in self.layers)
        return TransformerSource(layers, mask, words if self.words_in_readout else ())

    def initial_state(self, final: Tensor, source: TransformerSource, longest: Tensor) -> TransformerState:
        """The state before the first of at most `longest` steps; the final state of the encoder gives its size."""
        batch, width = ops.shape(final)[0], final.shape[-1]
        shape = (batch, self.config.heads, initial_length(longest), width // self.config.heads)
        layers = tuple(
            KeysValues(ops.zeros(shape, self.compute_dtype), ops.zeros(shape, self.compute_dtype)) for _ in self.layers
        )
        weights = ops.zeros_like(ops.cast(source.mask, "float32"))
        return TransformerState(
            ops.zeros((batch, width), self.compute_dtype), weights, ops.zeros((batch,), "int32"), layers
        )

    def project_input(self, embedded: Tensor) -> Tensor:
        """The contribution of the previous piece to a step: its embedding, unchanged."""
        return embedded

    def step(self, state: TransformerState, embedded: Tensor, source: TransformerSource) -> TransformerState:
        """One step of search.

        Args:
            state: state after the step before.
            embedded: embedding of the previous piece, [batch, width].
            source: encoded source sentence.
        """
        values, layers, weights = self.positions(embedded, state.time)[:, None], [], []
        source_mask = source.mask[:, None, None]
        for layer, past, memory in zip(self.layers, state.layers, source.layers, strict=True):
            queries, new = layer.project_steps(values)
            layers.append(KeysValues(*(append_step(old, one, state.time) for old, one in zip(past, new, strict=True))))
            if len(layers) == 1:  # the caches of all layers have the same length
                past_mask = _mask_until(state.time, axis_length(layers[0].keys, 2))
            values, attention = layer(values, queries, layers[-1], past_mask, memory, source_mask, training=False)
            weights.append(attention)
        alignment = ops.mean(weights[self.alignment_index][:, :, 0], axis=1)
        return TransformerState(self.norm(values)[:, 0], alignment, state.time + 1, tuple(layers))

    def readout(self, state: TransformerState, embedded: Tensor, source: TransformerSource) -> Tensor:
        """The read-out of a step, which the output layer multiplies, [batch, width] in the compute type."""
        return self._readout(state.output, state.weights, source)

    def _readout(self, output: Tensor, weights: Tensor, source: TransformerSource) -> Tensor:
        return add_attended_words(output, self.words_layer, weights, source.words) if self.words_in_readout else output

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "words_in_readout": self.words_in_readout}


def _mask_until(time: Tensor, steps: Tensor) -> Tensor:
    """Mask of the steps up to and including `time`, int32 [batch]: bool [batch, 1, 1, steps]."""
    return (ops.arange(steps, dtype="int32") <= time[:, None])[:, None, None, :]
