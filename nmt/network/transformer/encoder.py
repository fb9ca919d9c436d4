"""The Transformer encoder."""

from __future__ import annotations

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.network.attention import context_vectors
from nmt.network.encoder import Encoded
from nmt.network.transformer.layers import EncoderLayer, LayerStack


@keras.saving.register_keras_serializable("nmt")
class TransformerEncoder(LayerStack):
    """A stack of self-attention layers over the embedded source."""

    layer_type = EncoderLayer

    @property
    def depth(self) -> int:
        return self.config.encoder_layers

    def call(self, values: Tensor, lengths: Tensor, training: bool = False) -> Encoded:
        """Embedded source [batch, positions, width] and lengths [batch] -> `Encoded`.

        The final state is the mean of the memory. A recurrent decoder starts from it.
        """
        positions = ops.arange(ops.shape(values)[1], dtype="int32")
        mask = positions[None, :] < ops.cast(lengths, "int32")[:, None]
        values = self.positions(values, positions)
        head_mask = mask[:, None, None]
        for layer in self.layers:
            values = layer(values, head_mask, training=training)
        memory = self.norm(values)
        shares = ops.cast(mask, "float32") / ops.maximum(ops.cast(lengths, "float32"), 1.0)[:, None]
        return Encoded(memory, ops.squeeze(context_vectors(shares[:, None], memory), axis=1))
