"""Attention before the recurrence (Bahdanau et al. 2015)."""

from __future__ import annotations

import keras

from nmt.backend import Tensor
from nmt.network.decoder.core import NO_LOOP, DecoderState, Loop, PieceShare, RecurrentDecoder, Source
from nmt.network.recurrence import before


@keras.saving.register_keras_serializable("nmt")
class BahdanauDecoder(RecurrentDecoder):
    """Attends with the previous state; the context vector enters the recurrence (Bahdanau et al. 2015, A.1.1, A.1.2
    and A.2.2).

    A step: attend with s_{i-1}, get c_i; update the cell with the embedding of y_{i-1} and c_i, get s_i; read out
    t_i = tanh(U s_i + V E y_{i-1} + C c_i). Where we deviate from the paper: with `piece_in_query` the embedding of
    y_{i-1} is part of the query too, q_i = Q E y_{i-1}, because s_{i-1} was made before y_{i-1} was chosen and cannot
    know which source words it has dealt with (the conditional GRU of Sennrich et al. 2017, section 3.1, gets there by a
    second GRU instead); with `words_in_readout` the read-out knows the attended words (`readout.with_words`); the reset
    gate (see `gru`); the read-out uses s_i, not s_{i-1}, and tanh, not maxout; the first state comes from both
    directions of the encoder, not from the backward one alone.
    """

    def _readout_inputs(self, embedded: int, memory: int) -> int:
        return self.units + memory + embedded

    def _read_width(self, memory: int) -> int:
        return memory

    def step(self, state: DecoderState, piece: PieceShare, source: Source, loop: Loop = NO_LOOP) -> DecoderState:
        context, weights = self.attend(state.hidden, state, piece, source, loop)
        read = context if loop.context is None else context * loop.context
        gates = piece.gates + self._multiplied(read, "context_kernel", loop)
        hidden, carry, time = self.advance(state, gates, piece, loop)
        return DecoderState(hidden, context, weights, carry, (), time, self._covered(state, weights))

    def _reads(self, start: DecoderState, states: DecoderState) -> Tensor:
        return states.context

    def _asks(self, start: DecoderState, states: DecoderState) -> Tensor:
        return before(states.hidden, start.hidden)

    def _readout(self, state: DecoderState, embedded: Tensor) -> Tensor:
        return self._read(state.hidden, state.context, embedded)
