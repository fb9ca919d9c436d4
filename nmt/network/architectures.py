"""Encoder and decoder of each architecture: recurrent, Transformer, or Transformer encoder with recurrent decoder."""

from __future__ import annotations

from typing import Any

from nmt.config import ModelConfig
from nmt.network.decoder import BahdanauDecoder, LuongDecoder
from nmt.network.encoder import Encoder
from nmt.network.transformer.decoder import TransformerDecoder
from nmt.network.transformer.encoder import TransformerEncoder

# A Transformer takes one dropout seed per layer. The offsets keep these seeds apart from all others.
TRANSFORMER_ENCODER_SEEDS = 10_000
TRANSFORMER_DECODER_SEEDS = 20_000


def make_encoder(config: ModelConfig, seed: int, dtype: Any) -> Any:
    """The encoder of this configuration.

    Args:
        config: configuration of the model.
        seed: seed of the dropout masks.
        dtype: Keras precision policy.
    """
    options: dict[str, Any] = {"dtype": dtype, "name": "encoder"}
    if config.architecture == "rnn":
        return Encoder(config.memory_width, config.encoder_layers, config.dropout.encoder, seed, **options)
    seed += TRANSFORMER_ENCODER_SEEDS
    return TransformerEncoder(config.transformer, config.dropout.residual, seed, **options)


def make_decoder(config: ModelConfig, seed: int, dtype: Any) -> Any:
    """The decoder of this configuration.

    Args:
        config: configuration of the model.
        seed: seed of all that is random in training.
        dtype: Keras precision policy.
    """
    options: dict[str, Any] = {"dtype": dtype, "name": "decoder", "words_in_readout": config.words_in_readout}
    if config.architecture == "transformer":
        seed += TRANSFORMER_DECODER_SEEDS
        return TransformerDecoder(config.transformer, config.dropout.residual, seed, **options)
    options |= {"state_dropout": config.dropout.state, "context_dropout": config.dropout.context, "seed": seed}
    sizes = config.units, config.attention, config.readout_width, config.cell
    if config.decoder == "luong":
        return LuongDecoder(*sizes, input_feeding=config.input_feeding, **options)
    return BahdanauDecoder(*sizes, piece_in_query=config.piece_in_query, **options)
