"""The recurrent encoder: stacked bidirectional LSTMs over right-padded sentences."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.gather_scatter import gather, gather_within
from nmt.network.dropout import Dropout
from nmt.network.linear import linear_to_float32
from nmt.network.recurrence.lstm import lstm_states


class Encoded(NamedTuple):
    """The output of an encoder."""

    memory: Tensor
    """Annotations h_j, [batch, positions, width], in the compute type. A BiLSTM gives h_j = [forward; backward]."""
    final: Tensor
    """Summary of the sentence for the first decoder state, float32 [batch, width]. A BiLSTM gives the forward state at
    the last word and the backward state at the first."""


def fused_lstm() -> bool:
    """Whether Keras's LSTM layers compute the recurrence. On a GPU they run cuDNN's fused kernel; elsewhere the scan of
    this package is faster."""
    return any(device.startswith("gpu") for device in keras.distribution.list_devices())


def reverse_by_length(values: Tensor, lengths: Tensor) -> Tensor:
    """Reverses the first `lengths[b]` positions of each row b. Padding stays in place.

    Args:
        values: [batch, positions, width].
        lengths: integer [batch].
    """
    positions = ops.arange(ops.shape(values)[1], dtype="int32")[None, :]
    lengths = lengths[:, None]
    sources = ops.where(positions < lengths, lengths - 1 - positions, positions)

    def reverse(values: Tensor) -> Tensor:
        return gather_within(values, sources)

    # The reversal is its own inverse and transpose. TensorFlow's gradient of a gather is a slow scatter.
    return ops.custom_gradient(lambda values: (reverse(values), reverse))(values)


@keras.saving.register_keras_serializable("nmt")
class BidirectionalLSTM(keras.layers.Layer):
    """One LSTM over the sentence in each direction, their outputs side by side (Schuster and Paliwal 1997).

    The LSTMs need no mask: padding is on the right, after all real positions, and the backward LSTM reads its input
    reversed by length. Keras can therefore use cuDNN's fused LSTM on GPUs, in float32. On CPUs a scan over the same
    weights computes the recurrence. There the input's part of the gates is computed outside the loop, products are
    formed in the compute type, and states are float32.

    Args:
        units: width of the output; each direction has half of it.
    """

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.units = units
        self.forward = keras.layers.LSTM(units // 2, return_sequences=True, dtype="float32", name="forward")
        self.backward = keras.layers.LSTM(units // 2, return_sequences=True, dtype="float32", name="backward")

    def build(self, values_shape: tuple, *_: Any) -> None:
        self.forward.build(values_shape)
        self.backward.build(values_shape)
        self.built = True

    def call(self, values: Tensor, lengths: Tensor) -> Encoded:
        """values [batch, positions, width], lengths [batch] -> `Encoded`; the memory at padding is meaningless."""
        last = ops.maximum(lengths, 1) - 1
        forward, forward_last = self._run(self.forward, values, last)
        backward, backward_last = self._run(self.backward, reverse_by_length(values, lengths), last)
        outputs = ops.concatenate([forward, reverse_by_length(backward, lengths)], axis=-1)
        return Encoded(outputs, ops.concatenate([forward_last, backward_last], axis=-1))

    def _run(self, layer: keras.layers.LSTM, values: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
        """Runs one direction.

        Args:
            values: [batch, positions, width].
            last: index of the last position of each sentence, int32 [batch].

        Returns:
            States in the compute type, [batch, positions, units / 2], and the last state, float32 [batch, units / 2].
        """
        states = ops.transpose(layer(values), (1, 0, 2)) if fused_lstm() else self._scan(layer.cell, values)
        batch = ops.shape(states)[1]
        at_last = gather(ops.reshape(states, (-1, states.shape[-1])), last * batch + ops.arange(batch, dtype="int32"))
        return ops.transpose(ops.cast(states, self.compute_dtype), (1, 0, 2)), at_last

    def _scan(self, cell: keras.layers.LSTMCell, values: Tensor) -> Tensor:
        """The states that a Keras LSTM of this cell computes, float32 [positions, batch, units / 2]."""
        inputs = linear_to_float32(
            ops.transpose(values, (1, 0, 2)), cell.kernel, cell.bias, multiply_in=self.compute_dtype
        )
        return lstm_states(inputs, cell.recurrent_kernel, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable("nmt")
class Encoder(keras.layers.Layer):
    """A stack of bidirectional LSTMs, with dropout on the output of each layer.

    Args:
        units: width of each layer's output and of the memory.
        layers: number of layers.
        dropout: dropout rate.
        seed: seed of the dropout masks.
    """

    def __init__(self, units: int, layers: int = 1, dropout: float = 0.0, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units, self.rate, self.seed = units, dropout, seed
        self.layers = [BidirectionalLSTM(units, dtype=self.dtype_policy, name=f"layer_{i + 1}") for i in range(layers)]
        self.dropout = Dropout(dropout, seed=seed, dtype=self.dtype_policy)

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
