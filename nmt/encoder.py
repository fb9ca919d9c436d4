"""The encoder: stacked bidirectional LSTMs over right-padded sentences."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from nmt.attention import Tensor


class Encoded(NamedTuple):
    """What the encoder hands to the decoder."""

    memory: Tensor
    """Annotations h_j = [forward; backward], [batch, positions, units], in the compute type."""
    final: Tensor
    """Forward state at the last word and backward state at the first, float32 [batch, units]."""


def reverse_by_length(values: Tensor, lengths: Tensor) -> Tensor:
    """Reverses the first `lengths[b]` positions of each row and leaves the padding where it is.

    Args:
        values: [batch, positions, width].
        lengths: integer [batch].
    """
    positions = ops.arange(ops.shape(values)[1], dtype="int32")[None, :]
    lengths = lengths[:, None]
    indices = ops.where(positions < lengths, lengths - 1 - positions, positions)
    return ops.take_along_axis(values, indices[:, :, None], axis=1)


@keras.saving.register_keras_serializable("nmt")
class BidirectionalLSTM(keras.layers.Layer):
    """Two LSTMs over the sentence, one in each direction, their outputs side by side (Schuster and Paliwal 1997).

    The recurrences run in float32 whatever the precision, as a cell state is added to at every step. They see no mask:
    padding stands on the right, where it comes after everything that counts, and the backward one reads its input
    reversed by length. So the fused kernels of cuDNN can be used.

    Args:
        units: width of the output, half of it for each direction.
    """

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.forward = keras.layers.LSTM(units // 2, return_sequences=True, dtype="float32", name="forward")
        self.backward = keras.layers.LSTM(units // 2, return_sequences=True, dtype="float32", name="backward")

    def build(self, values_shape: tuple, *_: Any) -> None:
        self.forward.build(values_shape)
        self.backward.build(values_shape)
        self.built = True

    def call(self, values: Tensor, lengths: Tensor) -> Encoded:
        """values [batch, positions, width], lengths [batch] -> `Encoded`; padded positions hold no meaning."""
        forward = self.forward(values)
        backward = self.backward(reverse_by_length(values, lengths))
        last = ops.maximum(lengths, 1)[:, None, None] - 1
        final = ops.concatenate(
            [ops.squeeze(ops.take_along_axis(outputs, last, axis=1), axis=1) for outputs in (forward, backward)],
            axis=-1,
        )
        outputs = ops.concatenate([forward, reverse_by_length(backward, lengths)], axis=-1)
        return Encoded(ops.cast(outputs, self.compute_dtype), final)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable("nmt")
class Encoder(keras.layers.Layer):
    """A stack of bidirectional LSTMs, with dropout on every layer's output.

    Args:
        units: width of every layer's output and of the memory.
        layers: number of layers.
        dropout: rate.
        seed: of the dropout masks.
    """

    def __init__(self, units: int, layers: int = 1, dropout: float = 0.0, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units, self.rate, self.seed = units, dropout, seed
        self.layers = [BidirectionalLSTM(units, dtype=self.dtype_policy, name=f"layer_{i + 1}") for i in range(layers)]
        self.dropout = keras.layers.Dropout(dropout, seed=seed, dtype=self.dtype_policy)

    def build(self, values_shape: tuple, *_: Any) -> None:
        for layer in self.layers:
            layer.build(values_shape)
            values_shape = (*values_shape[:-1], self.units)
        self.built = True

    def call(self, values: Tensor, lengths: Tensor, training: bool = False) -> Encoded:
        """Embedded source [batch, positions, width] and lengths [batch] -> `Encoded`."""
        for layer in self.layers:
            encoded = layer(values, lengths)
            values = self.dropout(encoded.memory, training=training)
        return Encoded(values, encoded.final)

    def get_config(self) -> dict[str, Any]:
        own = {"units": self.units, "layers": len(self.layers), "dropout": self.rate, "seed": self.seed}
        return {**super().get_config(), **own}
