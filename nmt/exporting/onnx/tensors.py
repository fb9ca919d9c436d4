"""The tensors that go in and out of the graphs: the decoder's state and the encoded source of each architecture."""

from __future__ import annotations

from nmt.config import ModelConfig
from nmt.exporting.onnx.windows import TIMED
from nmt.run.exported import TensorSpec

ROWS, POSITIONS, STEPS = "rows", "positions", "steps"


def state_tensors(config: ModelConfig) -> list[TensorSpec]:
    """The state; see `nmt.network.decoder.state.DecoderState` and `transformer.decoder.TransformerState`."""
    if config.architecture == "transformer":
        return [TensorSpec("time", "int32", (ROWS,)), *_keys_and_values(config, "past", STEPS)]
    units, readout = (ROWS, config.units), (ROWS, config.readout_width)
    state = [TensorSpec("hidden", "float32", units)]
    if config.cell == "lstm":
        state.append(TensorSpec("cell", "float32", units))
    if config.decoder == "luong" and config.input_feeding:
        state.append(TensorSpec("attentional", "float32", readout))
    if config.attention.window in TIMED:
        state.append(TensorSpec("time", "int32", (ROWS,)))
    if config.attention.coverage:
        state.append(TensorSpec("coverage", "float32", (ROWS, POSITIONS)))
    return state


def encoded_tensors(config: ModelConfig) -> list[TensorSpec]:
    """The encoded source; see `nmt.network.decoder.state.Source` and `transformer.decoder.TransformerSource`."""
    encoded = [TensorSpec("mask", "bool", (ROWS, POSITIONS))]
    if config.architecture == "transformer":
        encoded += _keys_and_values(config, "source", POSITIONS)
    elif config.attends:
        encoded.append(TensorSpec("memory", "float32", (ROWS, POSITIONS, config.memory_width)))
        if config.attention.score == "additive":
            encoded.append(TensorSpec("keys", "float32", (ROWS, POSITIONS, config.attention.units)))
    else:
        encoded.append(TensorSpec("final", "float32", (ROWS, config.memory_width)))
    if config.attends and config.words_in_readout:
        encoded.append(TensorSpec("words", "float32", (ROWS, POSITIONS, config.embedding)))
    return encoded


def _keys_and_values(config: ModelConfig, name: str, axis: str) -> list[TensorSpec]:
    """Keys and values of each Transformer layer."""
    sizes = config.transformer
    axes = (ROWS, sizes.heads, axis, config.embedding // sizes.heads)
    layers = range(1, sizes.decoder_layers + 1)
    return [TensorSpec(f"{name}_{what}_{layer}", "float32", axes) for layer in layers for what in ("keys", "values")]
