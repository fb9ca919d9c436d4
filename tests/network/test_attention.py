"""Attention: every score and every window against NumPy, masked softmax, gradients, precision, serialisation."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nmt.backend.gumbel import gumbel
from nmt.batches.arrays import Sequences, make_batch
from nmt.config import AttentionConfig
from nmt.network.attention import MASKED_ENERGY, SCORES, WINDOWS, Attention, context_vectors, masked_softmax
from nmt.network.attention.windows import HardWindow, WindowInputs, last_position
from nmt.network.linear import linear_to_float32
from nmt.training.step import TrainStep

BATCH, POSITIONS, STATE, MEMORY, UNITS, PLACES = 3, 5, 4, 6, 7, 4
LENGTHS = np.array([5, 2, 1])
MASK = np.arange(POSITIONS) < LENGTHS[:, None]
TIME = np.array([1, 3, 0], np.int32)

ENERGIES = arrays(np.float32, (3, 4), elements=st.floats(-50, 50, width=32))
MASKS = arrays(bool, (3, 4))

Weights = dict[str, np.ndarray]


def additive(q: np.ndarray, h: np.ndarray, w: Weights) -> float:
    hidden = np.tanh(q @ w["score/query_kernel"] + h @ w["score/key_kernel"] + w["score/key_bias"])
    return (hidden @ w["score/energy_kernel"])[0]


ENERGY: dict[str, Callable[..., float]] = {
    "additive": additive,
    "dot": lambda q, h, w: q @ h,
    "scaled_dot": lambda q, h, w: q @ h / np.sqrt(len(h)),
    "general": lambda q, h, w: q @ w["score/query_kernel"] @ h,
    "gaussian": lambda q, h, w: -(((q - h) * w["score/inverse_width"]) ** 2).sum() / 2,
}
"""Energy of one query and one position, as the papers write it; only the location score knows the position's number."""


def reference(
    names: tuple[str, str], query: np.ndarray, memory: np.ndarray, weights: Weights, reach: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Contexts and attention weights, position by position, in float64."""
    score, window = names
    contexts, alphas = np.zeros((len(query), memory.shape[-1])), np.zeros(MASK.shape)
    for i, q in enumerate(query):
        last = LENGTHS[i] - 1
        centre, sharpness = None, 0.0
        if window == "local_m":
            centre = min(TIME[i], last)
        if window == "local_p":
            hidden = np.tanh(q @ weights["window/centre_kernel"]) @ weights["window/centre_vector"]
            centre, sharpness = last / (1 + np.exp(-hidden[0])), 1 / (2 * (reach / 2) ** 2)
        seen = [j for j in range(last + 1) if centre is None or abs(j - centre) <= reach]
        if score == "location":
            seen = [j for j in seen if j < PLACES]
            energies = np.array([(q @ weights["score/query_kernel"])[j] for j in seen])
        else:
            energies = np.array([ENERGY[score](q, memory[i, j], weights) for j in seen])
        if centre is not None:
            energies = energies - sharpness * (np.array(seen) - centre) ** 2
        alphas[i, seen] = np.exp(energies) / np.exp(energies).sum()
        if window == "hard":
            alphas[i] = np.arange(POSITIONS) == seen[int(energies.argmax())]
        contexts[i] = sum(alphas[i, j] * memory[i, j] for j in seen)
    return contexts, alphas


def named(layer: Any) -> Weights:
    """The weights in float64, by the end of their path: score/query_kernel."""
    return {"/".join(v.path.split("/")[-2:]): np.asarray(v.value, np.float64) for v in layer.trainable_variables}


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    """Queries as wide as the memory, which every score can compare."""
    random = np.random.default_rng(5)
    return (
        random.normal(size=(BATCH, MEMORY)).astype(np.float32),
        random.normal(size=(BATCH, POSITIONS, MEMORY)).astype(np.float32),
    )


@pytest.fixture
def make_layer(scramble: Callable[..., None]) -> Callable[..., Attention]:
    def make(score: str = "additive", window: str = "global", dtype: str = "float32", **sizes: int) -> Attention:
        sizes = {"units": UNITS, "reach": 2, "positions": PLACES, **sizes}
        layer = Attention(score, window, **sizes, dtype=dtype)
        layer.build((None, None, MEMORY), (None, None, MEMORY))
        scramble(layer)
        return layer

    return make


def attend(layer: Attention, query: Any, memory: Any) -> tuple[Any, Any]:
    return layer(query, memory, layer.keys(memory), MASK, time=TIME)


EVERY = [(score, "global") for score in SCORES] + [("additive", window) for window in WINDOWS if window != "global"]


def test_the_configuration_offers_every_part_and_no_other() -> None:
    offered = get_type_hints(AttentionConfig)
    assert {*get_args(offered["score"])} == {*SCORES, "none"}
    assert get_args(offered["window"]) == tuple(WINDOWS)


@pytest.mark.parametrize("names", [*EVERY, ("general", "local_p"), ("location", "local_m"), ("dot", "hard")])
def test_every_mechanism_is_its_papers(names: tuple[str, str], make_layer: Callable, data: tuple) -> None:
    layer, (query, memory) = make_layer(*names), data
    context, weights = attend(layer, query, memory)
    expected_context, expected_weights = reference(names, query, memory, named(layer))
    np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
    np.testing.assert_allclose(context, expected_context, atol=1e-5)
    outside = expected_weights == 0
    assert not np.asarray(weights)[outside].any()  # exactly
    np.testing.assert_allclose(np.sum(weights, axis=1), 1.0, atol=1e-6)


def test_luongs_concat_is_the_additive_score(make_layer: Callable, data: tuple) -> None:
    """v^T tanh(W [q; h]): the rows of W that meet the query are one kernel, those that meet the memory the other."""
    layer, (query, memory) = make_layer(), data
    weights = named(layer)
    together = np.concatenate([weights["score/query_kernel"], weights["score/key_kernel"]])
    both = np.concatenate([np.repeat(query[:, None], POSITIONS, axis=1), memory], axis=-1)
    expected = (np.tanh(both @ together + weights["score/key_bias"]) @ weights["score/energy_kernel"])[..., 0]
    np.testing.assert_allclose(layer.score(query[:, None], memory)[:, 0], expected, atol=1e-5)


def test_several_queries_at_once_are_the_queries_one_by_one(make_layer: Callable, data: tuple) -> None:
    _, memory = data
    queries = np.random.default_rng(6).normal(size=(BATCH, 3, MEMORY)).astype(np.float32)
    for name in SCORES:
        score = make_layer(name).score
        for i in range(3):
            alone = score(queries[:, i : i + 1], memory)[:, 0]
            np.testing.assert_allclose(score(queries, memory)[:, i], alone, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("score", ["dot", "scaled_dot", "gaussian"])
def test_scores_without_a_projection_need_one_width(score: str) -> None:
    with pytest.raises(ValueError, match="expected one width, got 4 and 6"):
        Attention(score).build((None, None, STATE), (None, None, MEMORY))


def test_an_offset_is_added_to_the_projected_query(make_layer: Callable, data: tuple) -> None:
    layer, (query, memory) = make_layer("general"), data
    offset = np.random.default_rng(7).normal(size=(BATCH, MEMORY)).astype(np.float32)
    _, weights = layer(query, memory, layer.keys(memory), MASK, offset)
    energies = np.einsum("bd,bpd->bp", query @ named(layer)["score/query_kernel"] + offset, memory)
    expected = np.where(MASK, np.exp(energies), 0)
    np.testing.assert_allclose(weights, expected / expected.sum(axis=1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize("score", [score for score in SCORES if score != "location"])
def test_coverage_moves_every_scores_keys(score: str, make_layer: Callable, data: tuple) -> None:
    layer, (query, memory) = make_layer(score, coverage=True), data
    plain = make_layer(score)
    plain.score.set_weights(layer.score.get_weights())
    covered = np.random.default_rng(3).uniform(0, 2, size=(BATCH, POSITIONS)).astype(np.float32)
    keys = np.asarray(layer.keys(memory))
    moved = keys + covered[..., None] * np.asarray(layer.coverage_kernel)
    found = layer(query, memory, keys, MASK, past_attention=covered)
    for one, two in zip(found, plain(query, memory, moved, MASK), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)
    assert np.abs(np.asarray(found[1]) - np.asarray(attend(plain, query, memory)[1])).max() > 0.01


@pytest.mark.parametrize("window", ["local_m", "local_p"])
def test_a_local_window_that_reaches_everywhere_is_global(window: str, make_layer: Callable, data: tuple) -> None:
    layer = make_layer(window=window, reach=1_000_000)
    everywhere = make_layer()
    everywhere.score.set_weights(layer.score.get_weights())
    for one, two in zip(attend(layer, *data), attend(everywhere, *data), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)


def test_the_predicted_centre_stays_inside_the_sentence(make_layer: Callable, data: tuple) -> None:
    layer, (query, _) = make_layer(window="local_p"), data
    for scale in (-1e4, 1.0, 1e4):
        centre = np.asarray(layer.window.centre(MASK[:, None], scale * query[:, None]))[:, 0, 0]
        assert ((centre >= 0) & (centre <= LENGTHS - 1)).all()


def test_a_window_stays_where_it_is_when_positions_before_it_are_erased() -> None:
    mask = np.array([[1, 1, 1, 1, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], bool)
    assert np.asarray(last_position(mask)).tolist() == [[3], [3], [0]]


def test_monotonic_attention_past_the_end_stays_at_the_end(make_layer: Callable, data: tuple) -> None:
    layer, (query, memory) = make_layer(window="local_m", reach=1), data
    _, weights = layer(query, memory, layer.keys(memory), MASK, time=np.array([50, 50, 50], np.int32))
    np.testing.assert_array_equal(np.asarray(weights) > 0, MASK & (np.arange(POSITIONS) >= LENGTHS[:, None] - 2))


def test_hard_attention_draws_with_the_softmaxs_probabilities() -> None:
    """The expectation of the estimator: over many draws each position comes as often as soft attention weighs it."""
    draws = 20_000
    energies = np.log(np.array([[[0.5, 0.3, 0.2, 7.0]]], np.float32))
    mask = np.array([[[True, True, True, False]]])
    noise = gumbel(np.arange(draws, dtype=np.uint32), 0, 1, 4)
    weights = HardWindow()(
        np.repeat(energies, draws, axis=0), mask, WindowInputs(np.zeros((draws, 1, 1), "f"), (), noise)
    )
    weights = np.asarray(weights)[:, 0]
    assert {*np.unique(weights)} == {0.0, 1.0}
    np.testing.assert_allclose(weights.mean(axis=0), [0.5, 0.3, 0.2, 0.0], atol=0.012)


def test_hard_attentions_gradient_is_that_of_the_softmax_of_the_same_draw() -> None:
    """Straight-through: forward one position, backward the softmax of energies + noise, by finite differences."""
    random = np.random.default_rng(9)
    energies, noise = random.normal(size=(2, 1, 4)).astype("f"), random.gumbel(size=(2, 1, 4)).astype("f")
    values, mask = random.normal(size=(2, 1, 4)), np.array([[[True] * 4], [[True, True, True, False]]])
    inputs = tf.constant(energies)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        weights = HardWindow()(inputs, mask, WindowInputs(np.zeros((2, 1, 1), "f"), (), noise))
        total = tf.reduce_sum(weights * values.astype("f"))
    found = tape.gradient(total, inputs).numpy()

    def soft(energies: np.ndarray) -> float:
        exponents = np.where(mask, np.exp(energies + noise), 0)
        return float((exponents / exponents.sum(axis=-1, keepdims=True) * values).sum())

    for index in np.ndindex(energies.shape):
        step = np.zeros(energies.shape)
        step[index] = 1e-5
        exact = (soft(energies.astype(float) + step) - soft(energies.astype(float) - step)) / 2e-5
        np.testing.assert_allclose(found[index], exact, rtol=1e-3, atol=1e-5)


def test_the_sum_over_positions_is_the_memory_under_the_weights() -> None:
    memory = np.array([[[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]]], np.float32)
    np.testing.assert_allclose(context_vectors(np.array([[[0.5, 0.25, 0.25]]], np.float32), memory), [[[2.0, 20.0]]])


def test_a_bias_keeps_its_digits_where_products_do_not() -> None:
    """In bfloat16, whose numbers between 1 and 2 are 1/128 apart, 1 + 1/1,024 is 1; in float32 it is itself."""
    values, kernel, bias = np.full((1, 2, 1), 1 + 1 / 1024, np.float32), np.array([[1.0, 2.0]]), np.full(2, 1 / 1024)
    tensors = [tf.constant(array, tf.float32) for array in (values, kernel, bias)]
    made = linear_to_float32(*tensors, multiply_in="bfloat16")
    assert made.dtype == tf.float32
    np.testing.assert_array_equal(made, [[[1 + 1 / 1024, 2 + 1 / 1024]] * 2])
    exact = linear_to_float32(*tensors, multiply_in="float32")
    np.testing.assert_array_equal(exact, [[[1 + 2 / 1024, 2 + 3 / 1024]] * 2])


def test_one_position_gets_all_attention_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = masked_softmax(np.array([[3.0]], np.float32), np.array([[True]]))
    np.testing.assert_array_equal(weights, [[1.0]])


@pytest.mark.parametrize("names", EVERY)
def test_padding_may_hold_anything(names: tuple[str, str], make_layer: Callable, data: tuple) -> None:
    layer, (query, memory) = make_layer(*names), data
    other = np.where(MASK[:, :, None], memory, 1e4).astype(np.float32)
    for one, two in zip(attend(layer, query, memory), attend(layer, query, other), strict=True):
        np.testing.assert_array_equal(one, two)


@settings(max_examples=40, deadline=None)
@given(energies=ENERGIES, mask=MASKS)
def test_rows_sum_to_one_over_real_positions_and_are_zero_on_padding(energies: np.ndarray, mask: np.ndarray) -> None:
    weights = np.asarray(masked_softmax(energies, mask))
    assert (weights[~mask] == 0).all()
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), mask.any(axis=1).astype(float), atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(energies=ENERGIES, mask=MASKS, shift=st.floats(-20, 20, width=32))
def test_a_shift_of_all_energies_changes_nothing(energies: np.ndarray, mask: np.ndarray, shift: float) -> None:
    shifted = masked_softmax(energies + np.float32(shift), mask)
    np.testing.assert_allclose(shifted, masked_softmax(energies, mask), atol=2e-5)


def test_the_gradient_of_the_masked_softmax_is_that_of_the_plain_formula() -> None:
    """Also where nothing may be attended to, and where one mask is for several rows."""
    random = np.random.default_rng(3)
    energies, upstream = random.normal(size=(2, 4, 3, 5, 7)).astype(np.float32)[:, :, 0]
    mask = random.random((4, 1, 7)) < 0.6
    mask[2] = False

    def plain(values: tf.Tensor) -> tf.Tensor:
        grown = tf.where(mask, tf.exp(values), 0.0)
        return grown / tf.maximum(tf.reduce_sum(grown, axis=-1, keepdims=True), 1e-30)

    found = []
    for function in (lambda values: masked_softmax(values, mask), plain):
        values = tf.constant(energies)
        with tf.GradientTape() as tape:
            tape.watch(values)
            loss = tf.reduce_sum(upstream * function(values))
        found.append((loss, tape.gradient(loss, values)))
    for ours, expected in zip(*found, strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-5)
    assert np.abs(found[0][1]).max() > 0.01


def test_the_softmax_is_exact_on_hand_made_energies() -> None:
    energies, mask = np.log([[1.0, 2.0, 100.0, 5.0]]), np.array([[True, True, False, True]])
    np.testing.assert_allclose(masked_softmax(energies, mask), [[1 / 8, 2 / 8, 0, 5 / 8]], rtol=1e-6)


def test_a_row_without_real_positions_has_no_weights_and_a_finite_gradient() -> None:
    energies = tf.constant([[1.0, -2.0, 3.0], [0.5, 1.5, 2.5]])
    mask = np.array([[False, False, False], [True, False, True]])
    with tf.GradientTape() as tape:
        tape.watch(energies)
        weights = masked_softmax(energies, mask)
        loss = tf.reduce_sum(weights * [[1.0, 2.0, 3.0], [3.0, 5.0, 7.0]])
    gradient = tape.gradient(loss, energies).numpy()
    assert not np.asarray(weights)[0].any()
    assert not gradient[~mask].any()
    # d sum(w c) / d e_j = w_j (c_j - sum(w c)), with w = (1, e^2) / (1 + e^2) and c = (3, 7)
    w = np.exp([0.5, 2.5]) / np.exp([0.5, 2.5]).sum()
    np.testing.assert_allclose(gradient[1, [0, 2]], w * (np.array([3, 7]) - w @ [3, 7]), rtol=1e-5)


@pytest.mark.parametrize("names", [names for names in EVERY if names[1] != "hard"])
def test_gradients_are_those_of_finite_differences(names: tuple[str, str], make_layer: Callable, data: tuple) -> None:
    """Of the reference in float64, for the query, the memory and all weights."""
    layer, (query, memory) = make_layer(*names), data
    random = np.random.default_rng(8)
    on_context, on_weights = random.normal(size=(BATCH, MEMORY)), random.normal(size=(BATCH, POSITIONS))
    paths = [*named(layer)]

    def loss(values: list[np.ndarray]) -> float:
        context, weights = reference(names, values[0], values[1], dict(zip(paths, values[2:], strict=True)))
        return float((context * on_context).sum() + (weights * on_weights).sum())

    inputs = [tf.constant(query), tf.constant(memory)]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        context, weights = attend(layer, *inputs)
        total = tf.reduce_sum(context * on_context.astype("f")) + tf.reduce_sum(weights * on_weights.astype("f"))
    computed = tape.gradient(total, [*inputs, *(v.value for v in layer.trainable_variables)])
    values = [np.asarray(value, np.float64) for value in (query, memory, *named(layer).values())]
    for value, gradient in zip(values, computed, strict=True):
        for place in random.permutation(value.size)[:12]:
            index = np.unravel_index(place, value.shape)
            kept, differences = value[index].copy(), []
            for sign in (1, -1):
                value[index] = kept + sign * 1e-5
                differences.append(loss(values))
            value[index] = kept
            np.testing.assert_allclose(
                gradient.numpy()[index], (differences[0] - differences[1]) / 2e-5, rtol=1e-3, atol=1e-4
            )


@pytest.mark.parametrize("names", EVERY)
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision_multiplies_in_half_and_weighs_in_float32(
    policy: str, names: tuple[str, str], make_layer: Callable, data: tuple
) -> None:
    layer, exact = make_layer(*names, dtype=policy), make_layer(*names)
    context, weights = attend(layer, *data)
    assert [keras.backend.standardize_dtype(v.dtype) for v in (context, weights)] == ["float32", "float32"]
    assert {v.dtype for v in layer.trainable_variables} <= {"float32"}
    np.testing.assert_allclose(weights, attend(exact, *data)[1], atol=0.05)
    np.testing.assert_allclose(np.sum(weights, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("names", EVERY)
def test_the_configuration_makes_the_same_layer(names: tuple[str, str], make_layer: Callable, data: tuple) -> None:
    layer = make_layer(*names, dtype="mixed_bfloat16")
    copy: Any = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    copy.set_weights(layer.get_weights())
    assert copy.get_config() == layer.get_config()
    for one, two in zip(attend(layer, *data), attend(copy, *data), strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_score_that_contributing_shows_works(make_model: Callable) -> None:
    """The code in CONTRIBUTING.md as it stands there: against NumPy, and it learns inside a model."""
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    try:
        exec(compile(code, "CONTRIBUTING.md", "exec"), {"__name__": "example"})
        model = make_model(attention=AttentionConfig(score="cosine"))
        model.decoder.attention.score.sharpness.assign(3.0)
        random = np.random.default_rng(2)
        query, memory = random.normal(size=(1, 2, 8)).astype("f"), random.normal(size=(1, 3, 8)).astype("f")
        lengths = np.linalg.norm(query, axis=-1)[:, :, None] * np.linalg.norm(memory, axis=-1)[:, None]
        expected = 3 * np.einsum("bqd,bpd->bqp", query, memory) / lengths
        np.testing.assert_allclose(model.decoder.attention.score(query, memory), expected, atol=1e-5)
        optimizer = keras.optimizers.Adam(0.02)
        optimizer.build(model.trainable_variables)
        step = TrainStep(model, optimizer, 0.0)
        batch = make_batch(Sequences.of([[4, 7, 9], [5, 6]]), Sequences.of([[8, 9], [4, 11, 5]]), np.arange(2))
        losses = [float(step(batch)) for _ in range(30)]
        assert losses[-1] < 0.5 * losses[0]
    finally:
        SCORES.pop("cosine", None)


def test_a_window_of_positions_that_cannot_be_told_apart_is_a_distribution() -> None:
    """Behind `positions` the location score knows nothing: what the window leaves shares the weight."""
    energies = np.full((1, 1, 6), MASKED_ENERGY, np.float32)
    inside = np.array([[[False, True, True, False, False, False]]])
    np.testing.assert_allclose(masked_softmax(energies, inside), [[[0, 0.5, 0.5, 0, 0, 0]]])
