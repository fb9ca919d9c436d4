"""The recurrent decoders: a GRU or an LSTM that attends before each of its steps (Bahdanau) or after it (Luong)."""

from nmt.network.decoder.bahdanau import BahdanauDecoder
from nmt.network.decoder.luong import LuongDecoder
from nmt.network.decoder.recurrent import RecurrentDecoder
from nmt.network.decoder.state import NO_CONSTANTS, DecoderState, InputProjection, LoopConstants, Source

__all__ = [
    "NO_CONSTANTS",
    "BahdanauDecoder",
    "DecoderState",
    "InputProjection",
    "LoopConstants",
    "LuongDecoder",
    "RecurrentDecoder",
    "Source",
]
