"""The decoder: a GRU that attends with its previous state, and a deep read-out."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from nmt.attention import AdditiveAttention, Tensor


class Source(NamedTuple):
    """An encoded source sentence as the decoder reads it; the same at every step."""

    memory: Tensor
    """[batch, positions, width]."""
    keys: Tensor
    """Projected memory, [batch, positions, attention units]."""
    mask: Tensor
    """Boolean [batch, positions], true at real positions."""


class RecurrentMasks(NamedTuple):
    """Dropout masks on what the recurrence reads, one for all steps of a sentence; None: nothing is dropped."""

    hidden: Tensor | None = None
    """float32 [batch, units]."""
    context: Tensor | None = None
    """float32 [batch, memory width]."""


NO_MASKS = RecurrentMasks()


class PieceShare(NamedTuple):
    """What the previous target piece contributes to a step: no part of the recurrence, so computed outside of it."""

    gates: Tensor
    """Its share of the GRU's gates, float32 [..., 3 units]."""
    query: Tensor | None = None
    """Its share of the attention's query, float32 [..., attention units]; None where attention asks without it."""


class DecoderState(NamedTuple):
    """What one step hands to the next; search reorders it along the batch and reads `weights`."""

    hidden: Tensor
    """GRU state s_i, float32 [batch, units]."""
    context: Tensor
    """Context vector c_i of this step, float32 [batch, memory width]."""
    weights: Tensor
    """Attention weights alpha_ij of this step, float32 [batch, positions]."""


@keras.saving.register_keras_serializable("nmt")
class Decoder(keras.layers.Layer):
    """GRU decoder with additive attention over the previous state (Bahdanau et al. 2015, A.1.1, A.1.2 and A.2.2).

    A step: attend with s_{i-1}, get c_i; update the GRU with the embedding of y_{i-1} and c_i, get s_i; read out
    t_i = tanh(U s_i + V E y_{i-1} + C c_i). Where we deviate from the paper: with `piece_in_query` the embedding of
    y_{i-1} is part of the query too, q_i = Q E y_{i-1}, because s_{i-1} was made before y_{i-1} was chosen and cannot
    know which source words it has dealt with (the conditional GRU of Sennrich et al. 2017, section 3.1, gets there by a
    second GRU instead); the reset gate is applied after the recurrent product (as cuDNN does), so that the state is
    multiplied once; the read-out uses s_i, not s_{i-1}, and tanh, not maxout; the first state comes from both
    directions of the encoder, not from the backward one alone.

    Args:
        units: width of the state.
        attention_units: width of the attention's hidden layer.
        readout_units: width of the read-out.
        piece_in_query: whether attention asks with the previous piece besides the previous state.
        state_dropout, context_dropout: rates of dropout on the state and on the context vector where the recurrence
            reads them, one mask a sentence (Gal and Ghahramani 2016).
        seed: of the dropout masks.
    """

    def __init__(
        self,
        units: int,
        attention_units: int,
        readout_units: int,
        piece_in_query: bool = True,
        state_dropout: float = 0.0,
        context_dropout: float = 0.0,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.units, self.attention_units, self.readout_units = units, attention_units, readout_units
        self.piece_in_query = piece_in_query
        self.state_dropout, self.context_dropout, self.seed = state_dropout, context_dropout, seed
        self.attention = AdditiveAttention(attention_units, dtype=self.dtype_policy, name="attention")
        self.bridge = keras.layers.Dense(units, activation="tanh", dtype=self.dtype_policy, name="bridge")
        self.readout_layer = keras.layers.Dense(
            readout_units, activation="tanh", dtype=self.dtype_policy, name="readout"
        )
        self.drop_hidden = keras.layers.Dropout(state_dropout, seed=seed, dtype="float32")
        self.drop_context = keras.layers.Dropout(context_dropout, seed=seed + 1, dtype="float32")

    def build(self, embedded_shape: tuple, memory_shape: tuple, final_shape: tuple, *_: Any) -> None:
        embedded, memory, gates = embedded_shape[-1], memory_shape[-1], 3 * self.units
        self.attention.build((None, self.units), (None, None, memory))
        self.bridge.build((None, final_shape[-1]))
        self.readout_layer.build((None, self.units + memory + embedded))
        self.embedding_kernel = self.add_weight(shape=(embedded, gates), autocast=False, name="embedding_kernel")
        if self.piece_in_query:
            self.query_kernel = self.add_weight(
                shape=(embedded, self.attention_units), autocast=False, name="query_kernel"
            )
        self.context_kernel = self.add_weight(shape=(memory, gates), autocast=False, name="context_kernel")
        self.state_kernel = self.add_weight(
            shape=(self.units, gates), initializer="orthogonal", autocast=False, name="state_kernel"
        )
        self.gate_bias = self.add_weight(shape=(gates,), initializer="zeros", autocast=False, name="gate_bias")
        self.state_bias = self.add_weight(shape=(self.units,), initializer="zeros", autocast=False, name="state_bias")
        self.built = True

    def product(self, values: Tensor, kernel: Tensor) -> Tensor:
        """values @ kernel, multiplied in the compute type, in float32 afterwards."""
        product = ops.matmul(ops.cast(values, self.compute_dtype), ops.cast(kernel, self.compute_dtype))
        return ops.cast(product, "float32")

    def source(self, memory: Tensor, mask: Tensor) -> Source:
        """What attention reads of the encoder, computed once a sentence."""
        return Source(memory, self.attention.keys(memory), mask)

    def initial_state(self, final: Tensor, source: Source) -> DecoderState:
        """s_0 = tanh(W_s [forward; backward]) from the encoder's final states [batch, width]."""
        hidden = ops.cast(self.bridge(ops.cast(final, self.compute_dtype)), "float32")
        weights = ops.zeros_like(ops.cast(source.mask, "float32"))
        return DecoderState(hidden, ops.zeros_like(ops.cast(source.memory[:, 0], "float32")), weights)

    def piece_share(self, embedded: Tensor) -> PieceShare:
        """Embedding of the previous piece, [..., embedding] -> its share of a step."""
        gates = self.product(embedded, self.embedding_kernel) + self.gate_bias
        return PieceShare(gates, self.product(embedded, self.query_kernel) if self.piece_in_query else None)

    def step(
        self, state: DecoderState, piece: PieceShare, source: Source, masks: RecurrentMasks = NO_MASKS
    ) -> DecoderState:
        """One step of the recurrence, the same in training and in search.

        Args:
            state: of the step before.
            piece: `piece_share` of the previous target piece.
            source: encoded source sentence.
            masks: of the dropout in the recurrence.

        Returns:
            The state after this step, whose weights are the attention that it paid.
        """
        context, weights = self.attention(state.hidden, source.memory, source.keys, source.mask, piece.query)
        read_context = context if masks.context is None else context * masks.context
        read_hidden = state.hidden if masks.hidden is None else state.hidden * masks.hidden
        inputs = piece.gates + self.product(read_context, self.context_kernel)
        recurrent = self.product(read_hidden, self.state_kernel)
        # Split, not sliced: the gradient of a slice is a full-size tensor at each step.
        input_update, input_reset, input_candidate = ops.split(inputs, 3, axis=-1)
        state_update, state_reset, state_candidate = ops.split(recurrent, 3, axis=-1)
        update = ops.sigmoid(input_update + state_update)
        reset = ops.sigmoid(input_reset + state_reset)
        candidate = ops.tanh(input_candidate + reset * (state_candidate + self.state_bias))
        hidden = (1 - update) * state.hidden + update * candidate
        return DecoderState(hidden, context, weights)

    def masks(self, start: DecoderState) -> RecurrentMasks:
        """Draws the dropout masks of a batch, for training."""
        return RecurrentMasks(
            self.drop_hidden(ops.ones_like(start.hidden), training=True) if self.state_dropout else None,
            self.drop_context(ops.ones_like(start.context), training=True) if self.context_dropout else None,
        )

    def readout(self, hidden: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        """t_i from state, context and embedding, each [..., width] -> [..., readout units] in the compute type."""
        parts = [ops.cast(part, self.compute_dtype) for part in (hidden, context, embedded)]
        return self.readout_layer(ops.concatenate(parts, axis=-1))

    def call(
        self, embedded: Tensor, memory: Tensor, final: Tensor, mask: Tensor, training: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Teacher forcing: all steps of a target sentence whose pieces are known.

        Args:
            embedded: embeddings of the target shifted right, [batch, steps, embedding].
            memory, final: of the encoder, [batch, positions, width] and [batch, width].
            mask: boolean [batch, positions].

        Returns:
            Read-outs [batch, steps, readout units] and attention weights, float32 [batch, steps, positions].
        """
        source = self.source(memory, mask)
        start = self.initial_state(final, source)
        masks = self.masks(start) if training else NO_MASKS

        def body(state: DecoderState, shares: Tensor) -> tuple[DecoderState, DecoderState]:
            parts = ops.split(shares, [3 * self.units], axis=-1) if self.piece_in_query else [shares]
            state = self.step(state, PieceShare(*parts), source, masks)
            return state, state

        # Side by side: Keras scans several tensors on TensorFlow only where their length is known.
        shares = ops.concatenate([share for share in self.piece_share(embedded) if share is not None], axis=-1)
        _, states = ops.scan(body, start, ops.transpose(shares, (1, 0, 2)))
        hidden, context, weights = (ops.transpose(values, (1, 0, 2)) for values in states)
        return self.readout(hidden, context, embedded), weights

    def get_config(self) -> dict[str, Any]:
        names = (
            "units",
            "attention_units",
            "readout_units",
            "piece_in_query",
            "state_dropout",
            "context_dropout",
            "seed",
        )
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
