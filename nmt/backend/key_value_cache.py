"""The cache of keys and values that a Transformer decoder extends by one step at a time.

On TensorFlow the cache grows with each step: a cache of full length would cost memory for the longest possible
sentence, and each step would copy it. Compilers with fixed shapes get a cache of full length from the start.
"""

from __future__ import annotations

import keras
from keras import ops

from nmt.backend import Tensor


def initial_length(longest: Tensor) -> Tensor:
    """The number of steps that an empty cache has positions for.

    Args:
        longest: the number of steps that `append_step` will write at most.
    """
    # On TensorFlow the product is 0, and tracing does not see a constant, so the axis stays of unknown length.
    return 0 * longest if keras.backend.backend() == "tensorflow" else longest


def append_step(past: Tensor, new: Tensor, time: Tensor) -> Tensor:
    """Writes the keys or the values of one more step into the cache.

    Args:
        past: the cache, [batch, heads, steps, width].
        new: the new step, [batch, heads, 1, width].
        time: the index of the new step, int32 [batch].
    """
    if keras.backend.backend() == "tensorflow":
        return ops.concatenate([past, new], axis=2)
    positions = ops.arange(ops.shape(past)[2], dtype="int32")
    return ops.where((positions == time[:, None])[:, None, :, None], new, past)
