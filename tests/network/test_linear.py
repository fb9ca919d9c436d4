"""Matrix products in a shorter type with a bias in float32."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from nmt.network.linear import linear_to_float32


def test_the_bias_is_added_in_float32() -> None:
    """bfloat16 rounds 1 + 1/1,024 to 1, because its numbers between 1 and 2 are 1/128 apart. float32 does not."""
    values, kernel, bias = np.full((1, 2, 1), 1 + 1 / 1024, np.float32), np.array([[1.0, 2.0]]), np.full(2, 1 / 1024)
    tensors = [tf.constant(array, tf.float32) for array in (values, kernel, bias)]
    made = linear_to_float32(*tensors, multiply_in="bfloat16")
    assert made.dtype == tf.float32
    np.testing.assert_array_equal(made, [[[1 + 1 / 1024, 2 + 1 / 1024]] * 2])
    exact = linear_to_float32(*tensors, multiply_in="float32")
    np.testing.assert_array_equal(exact, [[[1 + 2 / 1024, 2 + 3 / 1024]] * 2])
