"""Random bytes, four from each random number."""

from __future__ import annotations

import math

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.capabilities import on_tensorflow


def random_bytes(pattern: Tensor, generator: keras.random.SeedGenerator) -> Tensor:
    """Uniform random bytes, uint8 in the shape of `pattern`.

    Each 32-bit random number gives four bytes, because drawing is most of the cost of dropout on a CPU.
    """
    if on_tensorflow(pattern):
        import tensorflow as tf

        shape, size = tf.shape(pattern), tf.size(pattern)
        words = tf.raw_ops.StatelessRandomUniformFullInt(shape=[(size + 3) // 4], seed=generator.next(), dtype=tf.int32)
        drawn = tf.bitcast(words, tf.uint8)
        if pattern.shape.rank and pattern.shape[-1] and pattern.shape[-1] % 4 == 0:  # no byte is left over
            return tf.reshape(drawn, shape)
        return tf.reshape(tf.reshape(drawn, [-1])[:size], shape)
    shape = ops.shape(pattern)
    count = math.prod(shape)
    words = keras.random.randint(((count + 3) // 4, 1), -(2**31), 2**31 - 1, dtype="int32", seed=generator)
    return ops.reshape(ops.reshape(ops.view(words, "uint8"), (-1,))[:count], shape)
