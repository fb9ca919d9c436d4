"""top_k by blocks against `keras.ops.top_k`, ties included; log_sum_exp against double precision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from nmt.backend.compiling import compile_function
from nmt.search.top_k import MINIMUM_BLOCK, log_sum_exp, top_k

LIBRARIES = pytest.mark.parametrize("tensor", [ops.convert_to_tensor, np.asarray], ids=["keras", "numpy"])


@LIBRARIES
@pytest.mark.parametrize("shape", [(8000,), (3, 8000), (2, 3, 4000), (2, 7919), (1, 64)])
@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_values_and_indices_equal_those_of_keras(shape, k, tensor):
    """8,000 values make blocks of 80. 7,919 is a prime and makes blocks of 88, with a short last one. 64 values are too
    few."""
    values = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    found, expected = top_k(tensor(values), k), ops.top_k(values, k)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_number_of_values_may_be_unknown_at_compile_time() -> None:
    """One program serves any number of blocks from k on."""
    found_in = compile_function(lambda values: top_k(values, 4))
    for blocks in (4, 5, 200):
        values = np.random.default_rng(blocks).normal(size=(3, blocks * MINIMUM_BLOCK)).astype(np.float32)
        for ours, theirs in zip(found_in(values), ops.top_k(values, 4), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@LIBRARIES
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1024, 1021]), st.integers(1, 12), st.sampled_from([1, 2, 6, 300]))
def test_among_equal_values_the_first_comes_first(tensor, seed, count, k, distinct):
    values = np.random.default_rng(seed).integers(0, distinct, size=(2, count)).astype(np.float32)
    order = np.argsort(-values, axis=-1, kind="stable")[:, :k]
    found, indices = top_k(tensor(values), k)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(found, np.take_along_axis(values, order, axis=-1))


def test_numpy_finds_values_beside_rows_that_are_no_numbers():
    values = np.random.default_rng(0).normal(size=(2, 8000)).astype(np.float32)
    expected = top_k(values, 5)[1][0]
    values[1] = np.nan
    np.testing.assert_array_equal(top_k(values, 5)[1][0], expected)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([2, 12, 101, 1024, 7919, 8000]), st.floats(-1e4, 1e4), st.floats(0, 300)
)
def test_log_sum_exp_equals_double_precision(seed, count, mean, spread):
    """Nearly all exponentials may underflow, or all may be too large or too small for float32."""
    values = np.random.default_rng(seed).normal(mean, spread, size=(3, count)).astype(np.float32)
    expected = np.logaddexp.reduce(values.astype(float), axis=-1, keepdims=True)
    np.testing.assert_allclose(log_sum_exp(ops.convert_to_tensor(values)), expected, rtol=1e-6, atol=1e-5)
