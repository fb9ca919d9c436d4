"""The recurrent decoders: a GRU or an LSTM that attends before each of its steps (Bahdanau) or after it (Luong)."""

from nmt.network.decoder.bahdanau import BahdanauDecoder
from nmt.network.decoder.core import NO_LOOP, DecoderState, Loop, PieceShare, RecurrentDecoder, Source
from nmt.network.decoder.luong import LuongDecoder

__all__ = [
    "NO_LOOP",
    "BahdanauDecoder",
    "DecoderState",
    "Loop",
    "LuongDecoder",
    "PieceShare",
    "RecurrentDecoder",
    "Source",
]
