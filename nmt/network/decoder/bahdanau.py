"""Attention before the recurrence (Bahdanau et al. 2015)."""

from __future__ import annotations

import keras

from nmt.backend import Tensor
from nmt.network.decoder.recurrent import RecurrentDecoder
from nmt.network.decoder.state import NO_CONSTANTS, DecoderState, InputProjection, LoopConstants, Source
from nmt.network.recurrence.states import previous_states


@keras.saving.register_keras_serializable("nmt")
class BahdanauDecoder(RecurrentDecoder):
    """Attends with the previous state; the context vector enters the recurrence (Bahdanau et al. 2015, A.1.1, A.1.2
    and A.2.2).

    One step:

    * The query s_{i-1} attends to the memory and gives the context vector c_i.
    * The cell reads the embedding of y_{i-1} and c_i and gives the state s_i.
    * The read-out is t_i = tanh(U s_i + V E y_{i-1} + C c_i).

    Differences from the paper:

    * With `piece_in_query` the query also contains the embedding of y_{i-1}: W s_{i-1} + Q E y_{i-1}. The state s_{i-1}
      was made before y_{i-1} was chosen, so it cannot know the source words that y_{i-1} translates. The conditional
      GRU of Sennrich et al. (2017, section 3.1) solves this with a second GRU.
    * With `words_in_readout` the read-out contains the attended source words (`readout.add_attended_words`).
    * The GRU's reset gate multiplies the recurrent product (`recurrence.gru`).
    * The read-out uses s_i and tanh; the paper uses s_{i-1} and maxout.
    * The first state comes from both directions of the encoder; the paper uses the backward one.
    """

    def _readout_input_width(self, embedded: int, memory: int) -> int:
        return self.units + memory + embedded

    def _recurrent_input_width(self, memory: int) -> int:
        return memory

    def step(
        self, state: DecoderState, projection: InputProjection, source: Source, constants: LoopConstants = NO_CONSTANTS
    ) -> DecoderState:
        context, weights = self._attend(state.hidden, state, projection, source, constants)
        recurrent_input = context if constants.context_mask is None else context * constants.context_mask
        gates = projection.gates + self._product(recurrent_input, "context_kernel", constants)
        hidden, cell, time = self._advance_cell(state, gates, projection, constants)
        return DecoderState(hidden, context, weights, cell, (), time, self._next_coverage(state, weights))

    def recurrent_inputs(self, start: DecoderState, states: DecoderState) -> Tensor:
        return states.context

    def queries(self, start: DecoderState, states: DecoderState) -> Tensor:
        return previous_states(states.hidden, start.hidden)

    def _state_readout(self, state: DecoderState, embedded: Tensor) -> Tensor:
        return self._apply_readout_layer(state.hidden, state.context, embedded)
