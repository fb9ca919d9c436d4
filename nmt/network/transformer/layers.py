"""The layers of a Transformer and the stack that encoder and decoder are."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import keras

from nmt.backend import Tensor
from nmt.backend.arithmetic import add_same_shape
from nmt.config import TransformerConfig
from nmt.network.attention import KeysValues, MultiHeadAttention
from nmt.network.dropout import Dropout
from nmt.network.linear import apply_to_rows
from nmt.network.transformer.layer_normalization import LayerNormalization
from nmt.network.transformer.positions import Positions


class TransformerLayer(keras.layers.Layer):
    """Base of encoder layers and decoder layers. Each sublayer computes x + dropout(sublayer(normalisation(x))).

    Args:
        config: sizes.
        names: names of the sublayers; each has its own normalisation, and all but "feed_forward" are attentions.
        dropout: dropout rate of the sublayers' outputs.
        seed: seed of the dropout masks.
    """

    def __init__(
        self, config: TransformerConfig, names: tuple[str, ...], dropout: float, seed: int, **kwargs: Any
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.config = config
        policy = self.dtype_policy
        self.norms = {name: LayerNormalization(dtype=policy, name=f"{name}_norm") for name in names}
        self.attentions = {
            name: MultiHeadAttention(config.heads, dtype=policy, name=name) for name in names if name != "feed_forward"
        }
        self.hidden = keras.layers.Dense(config.feed_forward, activation="relu", dtype=policy, name="hidden")
        self.drop = Dropout(dropout, seed=seed, dtype=policy)

    def build(self, values_shape: tuple, *_: Any) -> None:
        for norm in self.norms.values():
            norm.build(values_shape)
        for attention in self.attentions.values():
            attention.build(values_shape, values_shape)
        self.output_layer = keras.layers.Dense(values_shape[-1], dtype=self.dtype_policy, name="output")
        self.hidden.build(values_shape)
        self.output_layer.build((*values_shape[:-1], self.config.feed_forward))
        self.built = True

    def _normalized(self, values: Tensor, name: str) -> Tensor:
        """The input of the sublayer of this name."""
        return self.norms[name](values)

    def _add(self, values: Tensor, output: Tensor, training: bool) -> Tensor:
        """The residual connection around a sublayer with this output."""
        return add_same_shape(values, self.drop(output, training=training))

    def _feed_forward(self, values: Tensor, training: bool) -> Tensor:
        """The feed-forward sublayer, the same two-layer network at each position (Vaswani et al. 2017, eq. 2)."""
        normalized = self._normalized(values, "feed_forward")
        output = apply_to_rows(lambda rows: self.output_layer(self.hidden(rows)), normalized)
        return self._add(values, output, training)


class EncoderLayer(TransformerLayer):
    """Self-attention over the source, then the feed-forward network."""

    def __init__(self, config: TransformerConfig, dropout: float, seed: int, **kwargs: Any) -> None:
        super().__init__(config, ("self_attention", "feed_forward"), dropout, seed, **kwargs)

    def call(self, values: Tensor, mask: Tensor, training: bool) -> Tensor:
        """Output of the layer, [batch, positions, width].

        Args:
            values: [batch, positions, width].
            mask: boolean, broadcastable to [batch, heads, positions, positions].
        """
        attention = self.attentions["self_attention"]
        queries, memory = attention.project_self(self._normalized(values, "self_attention"))
        output, _ = attention.attend(queries, memory, mask)
        return self._feed_forward(self._add(values, output, training), training)


class DecoderLayer(TransformerLayer):
    """Self-attention over the target prefix, attention to the source, then the feed-forward network."""

    def __init__(self, config: TransformerConfig, dropout: float, seed: int, **kwargs: Any) -> None:
        super().__init__(config, ("self_attention", "attention", "feed_forward"), dropout, seed, **kwargs)

    def project_memory(self, memory: Tensor) -> KeysValues:
        """Keys and values of the encoded source, [batch, positions, width]."""
        return self.attentions["attention"].project_memory(memory)

    def project_steps(self, values: Tensor) -> tuple[Tensor, KeysValues]:
        """Queries, and keys and values, of target steps for self-attention; values [batch, steps, width]."""
        return self.attentions["self_attention"].project_self(self._normalized(values, "self_attention"))

    def call(
        self,
        values: Tensor,
        queries: Tensor,
        past: KeysValues,
        past_mask: Tensor,
        source: KeysValues,
        mask: Tensor,
        training: bool,
    ) -> tuple[Tensor, Tensor]:
        """Output of the layer for some target steps.

        Args:
            values: the steps, [batch, steps, width].
            queries: queries of these steps, from `project_steps`.
            past: keys and values of all steps that these may see, from `project_steps`.
            past_mask: which step sees which, boolean, broadcastable to [batch, heads, steps, past steps].
            source: keys and values of the source, from `project_memory`.
            mask: mask of the source, boolean, broadcastable to [batch, heads, steps, positions].

        Returns:
            [batch, steps, width], and attention to the source, float32 [batch, heads, steps, positions].
        """
        output, _ = self.attentions["self_attention"].attend(queries, past, past_mask)
        values = self._add(values, output, training)
        output, weights = self.attentions["attention"](self._normalized(values, "attention"), source, mask)
        values = self._add(values, output, training)
        return self._feed_forward(values, training), weights


class LayerStack(keras.layers.Layer):
    """Base of encoder and decoder: position encodings, a stack of layers, and a normalisation after the last one.

    Args:
        config: sizes.
        dropout: dropout rate of each sublayer's output.
        seed: seed of the first layer's dropout masks; layer i uses seed + i.
    """

    layer_type: ClassVar[type[EncoderLayer | DecoderLayer]]
    """Class of the layers."""

    def __init__(self, config: TransformerConfig, dropout: float = 0.0, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.config, self.rate, self.seed = config, dropout, seed
        policy = self.dtype_policy
        self.positions = Positions(config.positions, config.longest, dtype=policy, name="positions")
        self.layers = [
            self.layer_type(config, dropout, seed + i, dtype=policy, name=f"layer_{i + 1}") for i in range(self.depth)
        ]
        self.norm = LayerNormalization(dtype=policy, name="norm")

    @property
    def depth(self) -> int:
        """Number of layers."""
        raise NotImplementedError

    def build(self, values_shape: tuple, *_: Any) -> None:
        for layer in (self.positions, *self.layers, self.norm):
            layer.build(values_shape)
        self.built = True

    def get_config(self) -> dict[str, Any]:
        own = {"config": dataclasses.asdict(self.config), "dropout": self.rate, "seed": self.seed}
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LayerStack:
        return cls(**{**config, "config": TransformerConfig(**config["config"])})
