"""Attention after the recurrence (Luong et al. 2015)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.network.decoder.core import NO_LOOP, DecoderState, Loop, PieceShare, RecurrentDecoder, Source
from nmt.network.recurrence import before


@keras.saving.register_keras_serializable("nmt")
class LuongDecoder(RecurrentDecoder):
    """Attends with the new state, after the recurrence (Luong et al. 2015, sections 3 and 3.3).

    A step: update the cell with the embedding of y_{i-1}, and with input feeding the attentional vector of the step
    before, get h_i; attend with h_i, get c_i; the attentional vector tanh(W [h_i; c_i]) is what is read out. Where we
    deviate: one layer, GRU or LSTM, and the encoder is ours.

    Args:
        input_feeding: whether the next step reads the attentional vector.
    """

    def __init__(self, *args: Any, input_feeding: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.input_feeding = input_feeding

    def _readout_inputs(self, embedded: int, memory: int) -> int:
        return self.units + memory

    def _read_width(self, memory: int) -> int:
        return self.readout_units if self.input_feeding else 0

    def _first_fed(self, batch: Tensor) -> Tensor | tuple[()]:
        return ops.zeros((batch, self.readout_units)) if self.input_feeding else ()

    def step(self, state: DecoderState, piece: PieceShare, source: Source, loop: Loop = NO_LOOP) -> DecoderState:
        gates = piece.gates
        if self.input_feeding:
            read = state.fed if loop.context is None else state.fed * loop.context
            gates = gates + self._multiplied(read, "context_kernel", loop)
        hidden, carry, time = self.advance(state, gates, piece, loop)
        context, weights = self.attend(hidden, state, piece, source, loop)
        fed = ops.cast(self._read(hidden, context), "float32") if self.input_feeding else ()
        return DecoderState(hidden, context, weights, carry, fed, time, self._covered(state, weights))

    def _reads(self, start: DecoderState, states: DecoderState) -> Tensor:
        return before(states.fed, start.fed) if self.input_feeding else ()

    def _asks(self, start: DecoderState, states: DecoderState) -> Tensor:
        return states.hidden

    def _readout(self, state: DecoderState, embedded: Tensor) -> Tensor:
        if self.input_feeding:
            return ops.cast(state.fed, self.compute_dtype)
        return self._read(state.hidden, state.context)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "input_feeding": self.input_feeding}
