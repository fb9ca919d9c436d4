"""The base of the recurrent decoders: teacher forcing, the parts of a step, and the read-out."""

from __future__ import annotations

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.gumbel import gumbel
from nmt.network.decoder.parameters import DecoderParameters
from nmt.network.decoder.state import NO_CONSTANTS, DecoderState, InputProjection, LoopConstants, Source
from nmt.network.decoder.teacher_forcing import forced_states
from nmt.network.linear import linear_to_float32
from nmt.network.readout import add_attended_words
from nmt.network.recurrence.gru import gru
from nmt.network.recurrence.lstm import lstm


class RecurrentDecoder(DecoderParameters):
    """A recurrent decoder with attention. Subclasses define the order of attention and recurrence in `step`.

    Training scans `step` over a target sentence whose pieces are known. Search calls it once per piece.
    """

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
            embedded: embeddings of the target shifted right, [batch, steps, embedding].
            memory: memory of the encoder, [batch, positions, memory width].
            final: final state of the encoder, [batch, width].
            mask: boolean [batch, positions], true at real positions.
            words: embeddings of the source pieces, [batch, positions, embedding]; for `words_in_readout`.

        Returns:
            Read-outs [batch, steps, readout units] and attention weights, float32 [batch, steps, positions].
        """
        source = self.source(memory, final, mask, words)
        start = self.initial_state(final, source)
        constants = self._random_constants(start) if training else NO_CONSTANTS
        states = forced_states(self, start, embedded, source, constants)
        states = keras.tree.map_structure(lambda values: ops.swapaxes(values, 0, 1), states)
        return self.readout(states, embedded, source), states.weights

    def source(self, memory: Tensor, final: Tensor, mask: Tensor, words: Tensor | None = None) -> Source:
        """The source sentence as each step reads it, computed once."""
        keys = ops.cast(final, "float32") if self.attention is None else self.attention.keys(memory)
        return Source(memory, keys, mask, words if self.words_in_readout else ())

    def initial_state(self, final: Tensor, source: Source, longest: Tensor = 0) -> DecoderState:
        """s_0 = tanh(W_s [forward; backward]) from the encoder's final states [batch, width].

        Args:
            longest: greatest number of steps; unused, a Transformer needs it.
        """
        hidden = ops.cast(self.bridge(ops.cast(final, self.compute_dtype)), "float32")
        batch, zeros = ops.shape(hidden)[0], ops.zeros_like(ops.cast(source.mask, "float32"))
        return DecoderState(
            hidden,
            context=ops.zeros_like(ops.cast(source.memory[:, 0], "float32")),
            weights=zeros,
            cell=ops.zeros_like(hidden) if self.cell == "lstm" else (),
            attentional=self._first_attentional_vector(batch),
            time=ops.zeros((batch,), "int32") if self.needs_time else (),
            coverage=zeros if self.needs_coverage else (),
        )

    def project_input(self, embedded: Tensor) -> InputProjection:
        """The contribution of the previous piece to a step, from its embedding [..., embedding]."""
        gates = linear_to_float32(embedded, self.embedding_kernel, self.gate_bias, multiply_in=self.compute_dtype)
        if not self.piece_in_query:
            return InputProjection(gates)
        return InputProjection(gates, linear_to_float32(embedded, self.query_kernel, multiply_in=self.compute_dtype))

    def step(
        self, state: DecoderState, projection: InputProjection, source: Source, constants: LoopConstants = NO_CONSTANTS
    ) -> DecoderState:
        """One step of the recurrence, the same in training and in search.

        Args:
            state: state after the step before.
            projection: `project_input` of the previous target piece.
            source: encoded source sentence.
            constants: dropout masks, seeds and kernels of a teacher-forced sentence.

        Returns:
            The state after this step; its weights are the attention of this step.
        """
        raise NotImplementedError

    def readout(self, state: DecoderState, embedded: Tensor, source: Source) -> Tensor:
        """The read-out t_i, which the output layer multiplies, in the compute type.

        Args:
            state: state after one step, or after all steps, [batch, ...] or [batch, steps, ...].
            embedded: embedding of the previous piece, [..., embedding].
            source: encoded source sentence.

        Returns:
            [..., readout units].
        """
        readout = self._state_readout(state, embedded)
        if not self.words_in_readout:
            return readout
        return add_attended_words(readout, self.words_layer, state.weights, source.words)

    # Parts that the two decoders differ in.

    def recurrent_inputs(self, start: DecoderState, states: DecoderState) -> Tensor:
        """The recurrence's input besides state and piece at each step, [steps, batch, width]."""
        raise NotImplementedError

    def queries(self, start: DecoderState, states: DecoderState) -> Tensor:
        """The states that attention uses as queries at each step, [steps, batch, units]."""
        raise NotImplementedError

    def _state_readout(self, state: DecoderState, embedded: Tensor) -> Tensor:
        """The read-out without the attended source words."""
        raise NotImplementedError

    def _first_attentional_vector(self, batch: Tensor) -> Tensor | tuple[()]:
        return ()

    # Parts of a step.

    def _attend(
        self,
        hidden: Tensor,
        state: DecoderState,
        projection: InputProjection,
        source: Source,
        constants: LoopConstants,
    ) -> tuple[Tensor, Tensor]:
        """Context vector and attention weights for the query `hidden`. Without attention: final state and zeros."""
        if self.attention is None:
            return source.keys, ops.zeros_like(ops.cast(source.mask, "float32"))
        noise = None
        if constants.seeds is not None:
            noise = gumbel(constants.seeds, state.time, 1, ops.shape(source.mask)[1])[:, 0]
        query_kernel, memory = (constants.kernels.get(name) for name in ("query_projection", "memory"))
        projected = None if query_kernel is None else query_kernel.product(hidden)
        inputs = projection.query, state.time, noise, projected, state.coverage
        if memory is None:
            return self.attention(hidden, source.memory, source.keys, source.mask, *inputs)
        weights = self.attention.attention_weights(hidden, source.keys, source.mask, *inputs)
        return memory.product(weights) + projection.context, weights

    def _advance_cell(
        self, state: DecoderState, gates: Tensor, projection: InputProjection, constants: LoopConstants
    ) -> tuple[Tensor, Tensor | tuple[()], Tensor | tuple[()]]:
        """Hidden state, cell state and time after one step of the cell.

        Args:
            gates: the inputs' share of the gates, float32 [batch, gates x units].
        """
        hidden = state.hidden if constants.state_mask is None else state.hidden * constants.state_mask
        recurrent = self._product(hidden, "state_kernel", constants)
        time = ops.add(state.time, 1) if self.needs_time else ()
        if self.cell == "lstm":
            return (*lstm(gates + recurrent, state.cell), time)
        bias = self.state_bias if projection.candidate_bias is None else projection.candidate_bias
        return gru(gates, recurrent, bias, state.hidden), (), time

    def _product(self, values: Tensor, name: str, constants: LoopConstants) -> Tensor:
        """values @ the kernel of this name, float32."""
        kernel = constants.kernels.get(name)
        if kernel is None:
            return linear_to_float32(values, getattr(self, name), multiply_in=self.compute_dtype)
        return kernel.product(values)

    def _next_coverage(self, state: DecoderState, weights: Tensor) -> Tensor | tuple[()]:
        """Coverage after a step with these attention weights."""
        return ops.add(state.coverage, weights) if self.needs_coverage else ()

    def _apply_readout_layer(self, *parts: Tensor) -> Tensor:
        return self.readout_layer(ops.concatenate([ops.cast(part, self.compute_dtype) for part in parts], axis=-1))

    def _random_constants(self, start: DecoderState) -> LoopConstants:
        """Dropout masks and seeds of a batch in training."""
        recurrent_input = start.context if isinstance(start.attentional, tuple) else start.attentional
        seeds = None
        if self.needs_noise:
            drawn = keras.random.randint(ops.shape(start.hidden)[:1], 0, 2**31 - 1, seed=self.generator)
            seeds = ops.cast(drawn, "uint32")
        return LoopConstants(
            self.drop_state(ops.ones_like(start.hidden), training=True) if self.state_dropout else None,
            self.drop_context(ops.ones_like(recurrent_input), training=True) if self.context_dropout else None,
            seeds,
        )
