"""Attention after the recurrence (Luong et al. 2015)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.network.decoder.recurrent import RecurrentDecoder
from nmt.network.decoder.state import NO_CONSTANTS, DecoderState, InputProjection, LoopConstants, Source
from nmt.network.recurrence.states import previous_states


@keras.saving.register_keras_serializable("nmt")
class LuongDecoder(RecurrentDecoder):
    """Attends with the new state, after the recurrence (Luong et al. 2015, sections 3 and 3.3).

    One step:

    * The cell reads the embedding of y_{i-1} and gives the state h_i. With input feeding it also reads the attentional
      vector of the previous step.
    * The query h_i attends to the memory and gives the context vector c_i.
    * The attentional vector tanh(W [h_i; c_i]) is the read-out.

    Differences from the paper:

    * One layer, GRU or LSTM, and a bidirectional encoder.
    * With `words_in_readout`, the default of `ModelConfig`, the read-out contains the attended source words (Nguyen and
      Chiang 2018; `readout.add_attended_words`).
    * The first state is tanh(W_s [forward; backward]) of the encoder's final states; the paper uses them as they are.

    Args:
        input_feeding: whether the next step reads the attentional vector.
    """

    def __init__(self, *args: Any, input_feeding: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.input_feeding = input_feeding

    def _readout_input_width(self, embedded: int, memory: int) -> int:
        return self.units + memory

    def _recurrent_input_width(self, memory: int) -> int:
        return self.readout_units if self.input_feeding else 0

    def _first_attentional_vector(self, batch: Tensor) -> Tensor | tuple[()]:
        return ops.zeros((batch, self.readout_units)) if self.input_feeding else ()

    def step(
        self, state: DecoderState, projection: InputProjection, source: Source, constants: LoopConstants = NO_CONSTANTS
    ) -> DecoderState:
        gates = projection.gates
        if self.input_feeding:
            mask = constants.context_mask
            recurrent_input = state.attentional if mask is None else state.attentional * mask
            gates = gates + self._product(recurrent_input, "context_kernel", constants)
        hidden, cell, time = self._advance_cell(state, gates, projection, constants)
        context, weights = self._attend(hidden, state, projection, source, constants)
        attentional: Tensor | tuple[()] = ()
        if self.input_feeding:
            attentional = ops.cast(self._apply_readout_layer(hidden, context), "float32")
        return DecoderState(hidden, context, weights, cell, attentional, time, self._next_coverage(state, weights))

    def recurrent_inputs(self, start: DecoderState, states: DecoderState) -> Tensor:
        return previous_states(states.attentional, start.attentional) if self.input_feeding else ()

    def queries(self, start: DecoderState, states: DecoderState) -> Tensor:
        return states.hidden

    def _state_readout(self, state: DecoderState, embedded: Tensor) -> Tensor:
        if self.input_feeding:
            return ops.cast(state.attentional, self.compute_dtype)
        return self._apply_readout_layer(state.hidden, state.context)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "input_feeding": self.input_feeding}
