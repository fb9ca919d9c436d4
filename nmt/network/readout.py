"""What the read-outs of all decoders have in common: the source words that a step attends to."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.arithmetic import add_same_shape
from nmt.network.attention import context_vectors


def words_layer(width: int, dtype: Any) -> keras.layers.Layer:
    """x -> tanh(L x), what `with_words` reads words with; `width` is that of the read-out."""
    return keras.layers.Dense(width, activation="tanh", dtype=dtype, name="words")


def with_words(read: Tensor, layer: keras.layers.Layer, weights: Tensor, words: Tensor) -> Tensor:
    """The read-out with tanh(L sum_j alpha_ij E x_j) added to it, which the attended source pieces decide by
    themselves: a dictionary in the model, learned with it (Nguyen and Chiang 2018). Where we deviate from them: the
    output layer is one for both, and what goes into L does not go around it too.

    Args:
        read: of all steps of a sentence, [batch, steps, width], or of one, [batch, width].
        layer: of `words_layer`.
        weights: attention of these steps, float32 [batch, steps, positions] or [batch, positions].
        words: embeddings of the source pieces, [batch, positions, embedding].

    Returns:
        As `read`.
    """
    one = len(read.shape) == 2
    attended = context_vectors(weights[:, None] if one else weights, words)
    said = layer(ops.cast(attended, read.dtype))
    return add_same_shape(read, said[:, 0] if one else said)
