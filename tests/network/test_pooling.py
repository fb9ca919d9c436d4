"""Pooling: average, maximum and attention with one learned query against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays

from nmt.network.attention import SCORES, FixedQueryPooling, average_pooling, max_pooling

RANDOM = np.random.default_rng(11)
VALUES = RANDOM.normal(size=(3, 5, 4)).astype(np.float32)
LENGTHS = np.array([5, 2, 1])
MASK = np.arange(5) < LENGTHS[:, None]


@settings(max_examples=30, deadline=None)
@given(mask=arrays(bool, (3, 5)))
def test_average_and_maximum_ignore_padding(mask: np.ndarray) -> None:
    averages, weights = (np.asarray(values) for values in average_pooling(VALUES, mask))
    greatest = np.asarray(max_pooling(VALUES, mask))
    for row in range(3):
        real = VALUES[row, mask[row]]
        expected = real.mean(axis=0) if len(real) else np.zeros(4)
        np.testing.assert_allclose(averages[row], expected, atol=1e-6)
        np.testing.assert_allclose(weights[row], mask[row] / max(len(real), 1), atol=1e-6)
        np.testing.assert_array_equal(greatest[row], real.max(axis=0) if len(real) else np.zeros(4))


@pytest.fixture
def make_pooling(scramble: Callable[..., None]) -> Callable[..., FixedQueryPooling]:
    def make(**settings: Any) -> FixedQueryPooling:
        layer = FixedQueryPooling(units=6, **settings)
        layer.build((None, None, 4))
        scramble(layer)
        return layer

    return make


@pytest.mark.parametrize("score", [name for name in SCORES if name != "location"])
def test_pooling_with_a_fixed_query_is_attention_with_that_query(score: str, make_pooling: Callable) -> None:
    layer = make_pooling(score=score)
    pooled, weights = (np.asarray(values) for values in layer(VALUES, MASK))
    query = np.asarray(layer.query.value)
    for row, length in enumerate(LENGTHS):
        energies = np.asarray(layer.score(query, VALUES[row : row + 1, :length]))[0, 0]
        expected = np.exp(energies) / np.exp(energies).sum()
        np.testing.assert_allclose(weights[row, :length], expected, atol=1e-5)
        np.testing.assert_allclose(pooled[row], expected @ VALUES[row, :length], atol=1e-5)
    assert not weights[~MASK].any()


def test_a_sigmoid_gate_gives_each_position_an_independent_weight(make_pooling: Callable) -> None:
    layer = make_pooling(gate="sigmoid")
    pooled, weights = (np.asarray(values) for values in layer(VALUES, MASK))
    energies = np.asarray(layer.score(np.repeat(layer.query.value, 3, axis=0), VALUES))[:, 0]
    np.testing.assert_allclose(weights, np.where(MASK, 1 / (1 + np.exp(-energies)), 0), atol=1e-5)
    np.testing.assert_allclose(pooled, np.einsum("bp,bpd->bd", weights, VALUES), atol=1e-5)
    changed = VALUES.copy()
    changed[0, 4] += 3.0  # with a softmax this would change the other weights
    np.testing.assert_array_equal(np.asarray(layer(changed, MASK)[1])[0, :4], weights[0, :4])
    with pytest.raises(ValueError, match="expected softmax or sigmoid, got 'relu'"):
        FixedQueryPooling(gate="relu")


def test_the_layer_can_be_rebuilt_from_its_configuration(make_pooling: Callable) -> None:
    layer = make_pooling(score="general", gate="sigmoid")
    copy: Any = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    copy.set_weights(layer.get_weights())
    for one, two in zip(layer(VALUES, MASK), copy(VALUES, MASK), strict=True):
        np.testing.assert_array_equal(one, two)
