"""The greatest of many values, found by blocks, are those of an ordinary search, ties included; sums of powers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from nmt.backend.compiling import compile_function
from nmt.search.top_k import MINIMUM_BLOCK, log_sum_exp, top_k


@pytest.mark.parametrize("shape", [(8000,), (3, 8000), (2, 3, 4000), (2, 7919), (1, 64)])
@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_values_and_places_are_those_of_keras(shape, k):
    """8,000 values in blocks of 80; 7,919, a prime, in blocks of 88, the last one short; 64, too few, in one piece."""
    values = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    found, expected = top_k(ops.convert_to_tensor(values), k), ops.top_k(values, k)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_of_a_number_of_values_that_is_not_known_beforehand() -> None:
    """One program for any multiple of a block, from as many blocks as are wanted on."""
    found_in = compile_function(lambda values: top_k(values, 4))
    for blocks in (4, 5, 200):
        values = np.random.default_rng(blocks).normal(size=(3, blocks * MINIMUM_BLOCK)).astype(np.float32)
        for ours, theirs in zip(found_in(values), ops.top_k(values, 4), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1024, 1021]), st.integers(1, 12), st.integers(1, 6))
def test_of_equal_values_the_first_come_first(seed, count, k, different):
    values = np.random.default_rng(seed).integers(0, different, size=(2, count)).astype(np.float32)
    order = np.argsort(-values, axis=-1, kind="stable")[:, :k]
    found, places = top_k(ops.convert_to_tensor(values), k)
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(found, np.take_along_axis(values, order, axis=-1))


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([2, 12, 101, 1024, 7919, 8000]), st.floats(-1e4, 1e4), st.floats(0, 300)
)
def test_sums_of_exponentials_are_those_of_double_precision(seed, count, mean, spread):
    """Also where nearly all exponentials underflow, and all are too large or too small to be formed as they stand."""
    values = np.random.default_rng(seed).normal(mean, spread, size=(3, count)).astype(np.float32)
    expected = np.logaddexp.reduce(values.astype(float), axis=-1, keepdims=True)
    np.testing.assert_allclose(log_sum_exp(ops.convert_to_tensor(values)), expected, rtol=1e-6, atol=1e-5)
