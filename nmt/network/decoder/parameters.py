"""The layers and weights of the recurrent decoders."""

from __future__ import annotations

import dataclasses
from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.config import AttentionConfig
from nmt.network.attention import Attention
from nmt.network.dropout import Dropout
from nmt.network.readout import attended_words_layer


class DecoderParameters(keras.layers.Layer):
    """Layers and weights of the recurrent decoders: cell, attention, bridge, read-out and dropout.

    Args:
        units: width of the state.
        attention: configuration of the attention. With the score "none", every step reads the encoder's final state
            instead, a fixed vector for the whole sentence (Cho et al. 2014).
        readout_units: width of the read-out.
        cell: "gru" or "lstm".
        piece_in_query: whether the query contains the previous piece besides the state.
        words_in_readout: whether the read-out uses the attended source words besides the memory.
        state_dropout, context_dropout: dropout rates of the state and the context vector as the recurrence reads them,
            with one mask per sentence (Gal and Ghahramani 2016).
        seed: seed of all that is random in training.
    """

    def __init__(
        self,
        units: int,
        attention: AttentionConfig,
        readout_units: int,
        cell: str = "gru",
        piece_in_query: bool = False,
        words_in_readout: bool = False,
        state_dropout: float = 0.0,
        context_dropout: float = 0.0,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.units, self.readout_units, self.cell, self.seed = units, readout_units, cell, seed
        self.gates = {"gru": 3, "lstm": 4}[cell] * units
        self.attention_config, self.attention = attention, _attention_layer(attention, self.dtype_policy)
        attends, window = self.attention is not None, self.attention and self.attention.window
        self.piece_in_query, self.words_in_readout = piece_in_query and attends, words_in_readout and attends
        self.needs_noise = window is not None and window.needs_noise
        self.needs_time = self.needs_noise or (window is not None and window.needs_time)
        self.needs_coverage = attends and attention.coverage
        self.state_dropout, self.context_dropout = state_dropout, context_dropout
        self.bridge = keras.layers.Dense(units, activation="tanh", dtype=self.dtype_policy, name="bridge")
        self.readout_layer = keras.layers.Dense(
            readout_units, activation="tanh", dtype=self.dtype_policy, name="readout"
        )
        if self.words_in_readout:
            self.words_layer = attended_words_layer(readout_units, self.dtype_policy)
        self.drop_state = Dropout(state_dropout, seed=seed, dtype="float32")
        self.drop_context = Dropout(context_dropout, seed=seed + 1, dtype="float32")
        self.generator = keras.random.SeedGenerator(seed + 2) if self.needs_noise else None

    def build(self, embedded_shape: tuple, memory_shape: tuple, final_shape: tuple, *_: Any) -> None:
        embedded, memory = embedded_shape[-1], memory_shape[-1]
        self.bridge.build((None, final_shape[-1]))
        self.readout_layer.build((None, self._readout_input_width(embedded, memory)))
        if self.words_in_readout:
            self.words_layer.build((None, embedded))
        self.embedding_kernel = self._weight("embedding_kernel", embedded, self.gates)
        if self.attention is not None:
            self.attention.build((None, None, self.units), (None, None, memory))
            if self.piece_in_query:
                self.query_kernel = self._weight("query_kernel", embedded, self.attention.width)
        if self._recurrent_input_width(memory):
            self.context_kernel = self._weight("context_kernel", self._recurrent_input_width(memory), self.gates)
        self.state_kernel = self._weight("state_kernel", self.units, self.gates, initializer=_orthogonal)
        self.gate_bias = self._weight("gate_bias", self.gates, initializer="zeros", dtype="float32")
        if self.cell == "gru":
            self.state_bias = self._weight("state_bias", self.units, initializer="zeros", dtype="float32")
        else:  # a forget gate bias of 1, so that the cell remembers at first
            self.gate_bias.assign(ops.repeat(ops.convert_to_tensor([0.0, 1.0, 0.0, 0.0]), self.units))
        self.built = True

    def _weight(self, name: str, *shape: int, initializer: Any = "glorot_uniform", dtype: str | None = None) -> Any:
        return self.add_weight(shape=shape, initializer=initializer, dtype=dtype, autocast=False, name=name)

    def _readout_input_width(self, embedded: int, memory: int) -> int:
        """Width of the read-out's input, from the widths of embeddings and memory."""
        raise NotImplementedError

    def _recurrent_input_width(self, memory: int) -> int:
        """Width of the recurrence's input besides state and piece; 0: no such input."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        names = ("units", "readout_units", "cell", "piece_in_query", "words_in_readout")
        own = {name: getattr(self, name) for name in (*names, "state_dropout", "context_dropout", "seed")}
        return {**super().get_config(), **own, "attention": dataclasses.asdict(self.attention_config)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> DecoderParameters:
        return cls(**{**config, "attention": AttentionConfig(**config["attention"])})


def _attention_layer(config: AttentionConfig, dtype: Any) -> Attention | None:
    """The attention of this configuration; None for the score "none"."""
    if config.score == "none":
        return None
    sizes = config.units, config.reach, config.positions
    return Attention(config.score, config.window, *sizes, config.coverage, dtype=dtype, name="attention")


def _orthogonal(shape: tuple, dtype: Any = None) -> Tensor:
    """Keras's orthogonal initializer, computed in float32, because its decomposition does not accept every type."""
    return ops.cast(keras.initializers.Orthogonal()(shape, "float32"), dtype)
