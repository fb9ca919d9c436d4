"""The source words in the read-out.

The read-out is the vector of a decoder step that the output layer multiplies. Each decoder computes it from its state.
All decoders can add the source words that the step attends to.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.arithmetic import add_same_shape
from nmt.network.attention import context_vectors


def attended_words_layer(width: int, dtype: Any) -> keras.layers.Layer:
    """The layer x -> tanh(L x + b) of `add_attended_words`.

    Args:
        width: width of the read-out.
        dtype: Keras precision policy.
    """
    return keras.layers.Dense(width, activation="tanh", dtype=dtype, name="words")


def add_attended_words(readout: Tensor, layer: keras.layers.Layer, weights: Tensor, words: Tensor) -> Tensor:
    """Adds tanh(L sum_j alpha_ij E x_j + b) to the read-out (Nguyen and Chiang 2018).

    The attended source words thus influence the next piece directly, as a learned dictionary inside the model. Nguyen
    and Chiang give the lexical part an output layer of its own and a residual connection around L. Here both parts
    share one output layer, and there is no residual connection.

    Args:
        readout: read-outs of all steps, [batch, steps, width], or of one step, [batch, width].
        layer: result of `attended_words_layer`.
        weights: attention weights of the steps, float32 [batch, steps, positions] or [batch, positions].
        words: embeddings of the source pieces, [batch, positions, embedding].

    Returns:
        The sum, in the shape of `readout`.
    """
    one_step = len(readout.shape) == 2
    attended = context_vectors(weights[:, None] if one_step else weights, words)
    lexical = layer(ops.cast(attended, readout.dtype))
    return add_same_shape(readout, lexical[:, 0] if one_step else lexical)
