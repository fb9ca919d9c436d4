"""Attention: every score and every window against NumPy, gradients, precision, serialisation."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_type_hints

import keras
import numpy as np
import pytest
import tensorflow as tf

from nmt.backend.gumbel import gumbel
from nmt.batches.arrays import Sequences, make_batch
from nmt.config import AttentionConfig
from nmt.network.attention import SCORES, WINDOWS, Attention, context_vectors
from nmt.network.attention.windows import HardWindow, WindowInputs, last_position
from nmt.training.step import TrainStep

BATCH, POSITIONS, STATE, MEMORY, UNITS, PLACES = 3, 5, 4, 6, 7, 4
LENGTHS = np.array([5, 2, 1])
MASK = np.arange(POSITIONS) < LENGTHS[:, None]
TIME = np.array([1, 3, 0], np.int32)

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
"""Energy of one query and one position by the formulas of the papers. The location score is computed in `reference`."""


def reference(
    names: tuple[str, str], query: np.ndarray, memory: np.ndarray, weights: Weights, reach: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Context vectors and attention weights in float64, computed position by position."""
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
    """The weights in float64 by the last two parts of their path, for example score/query_kernel."""
    return {"/".join(v.path.split("/")[-2:]): np.asarray(v.value, np.float64) for v in layer.trainable_variables}


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    """Queries and memory of the same width, as every score accepts."""
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


def test_the_configuration_offers_exactly_the_registered_scores_and_windows() -> None:
    offered = get_type_hints(AttentionConfig)
    assert {*get_args(offered["score"])} == {*SCORES, "none"}
    assert get_args(offered["window"]) == tuple(WINDOWS)


@pytest.mark.parametrize("names", [*EVERY, ("general", "local_p"), ("location", "local_m"), ("dot", "hard")])
def test_every_mechanism_equals_the_formulas_of_its_paper(
    names: tuple[str, str], make_layer: Callable, data: tuple
) -> None:
    layer, (query, memory) = make_layer(*names), data
    context, weights = attend(layer, query, memory)
    expected_context, expected_weights = reference(names, query, memory, named(layer))
    np.testing.assert_allclose(weights, expected_weights, atol=1e-5)
    np.testing.assert_allclose(context, expected_context, atol=1e-5)
    outside = expected_weights == 0
    assert not np.asarray(weights)[outside].any()  # exactly zero
    np.testing.assert_allclose(np.sum(weights, axis=1), 1.0, atol=1e-6)


def test_luongs_concat_score_equals_the_additive_score(make_layer: Callable, data: tuple) -> None:
    """In v^T tanh(W [q; h]), some rows of W multiply the query and the others multiply the memory."""
    layer, (query, memory) = make_layer(), data
    weights = named(layer)
    together = np.concatenate([weights["score/query_kernel"], weights["score/key_kernel"]])
    both = np.concatenate([np.repeat(query[:, None], POSITIONS, axis=1), memory], axis=-1)
    expected = (np.tanh(both @ together + weights["score/key_bias"]) @ weights["score/energy_kernel"])[..., 0]
    np.testing.assert_allclose(layer.score(query[:, None], memory)[:, 0], expected, atol=1e-5)


def test_several_queries_at_once_equal_single_queries(make_layer: Callable, data: tuple) -> None:
    _, memory = data
    queries = np.random.default_rng(6).normal(size=(BATCH, 3, MEMORY)).astype(np.float32)
    for name in SCORES:
        score = make_layer(name).score
        for i in range(3):
            alone = score(queries[:, i : i + 1], memory)[:, 0]
            np.testing.assert_allclose(score(queries, memory)[:, i], alone, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("score", ["dot", "scaled_dot", "gaussian"])
def test_scores_without_a_projection_need_equal_widths(score: str) -> None:
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
def test_coverage_shifts_the_keys_of_every_score(score: str, make_layer: Callable, data: tuple) -> None:
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
def test_a_local_window_with_a_long_reach_is_global(window: str, make_layer: Callable, data: tuple) -> None:
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


def test_the_last_position_ignores_erased_positions_before_it() -> None:
    mask = np.array([[1, 1, 1, 1, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], bool)
    assert np.asarray(last_position(mask)).tolist() == [[3], [3], [0]]


def test_the_monotonic_window_stays_at_the_end_of_the_sentence(make_layer: Callable, data: tuple) -> None:
    layer, (query, memory) = make_layer(window="local_m", reach=1), data
    _, weights = layer(query, memory, layer.keys(memory), MASK, time=np.array([50, 50, 50], np.int32))
    np.testing.assert_array_equal(np.asarray(weights) > 0, MASK & (np.arange(POSITIONS) >= LENGTHS[:, None] - 2))


def test_hard_attention_samples_with_the_probabilities_of_the_softmax() -> None:
    """Over many samples, the frequency of each position approaches its soft attention weight."""
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


def test_the_gradient_of_hard_attention_is_the_gradient_of_the_softmax_of_the_same_sample() -> None:
    """Straight-through estimator: the reference is the softmax of energies + noise, by finite differences."""
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


def test_a_context_vector_is_the_weighted_sum_of_the_values() -> None:
    memory = np.array([[[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]]], np.float32)
    np.testing.assert_allclose(context_vectors(np.array([[[0.5, 0.25, 0.25]]], np.float32), memory), [[[2.0, 20.0]]])


@pytest.mark.parametrize("names", EVERY)
def test_values_at_padding_do_not_matter(names: tuple[str, str], make_layer: Callable, data: tuple) -> None:
    layer, (query, memory) = make_layer(*names), data
    other = np.where(MASK[:, :, None], memory, 1e4).astype(np.float32)
    for one, two in zip(attend(layer, query, memory), attend(layer, query, other), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("names", [names for names in EVERY if names[1] != "hard"])
def test_gradients_equal_finite_differences(names: tuple[str, str], make_layer: Callable, data: tuple) -> None:
    """The differences are those of `reference`, for the query, the memory and all weights."""
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
        for flat_index in random.permutation(value.size)[:12]:
            index = np.unravel_index(flat_index, value.shape)
            original, differences = value[index].copy(), []
            for sign in (1, -1):
                value[index] = original + sign * 1e-5
                differences.append(loss(values))
            value[index] = original
            np.testing.assert_allclose(
                gradient.numpy()[index], (differences[0] - differences[1]) / 2e-5, rtol=1e-3, atol=1e-4
            )


@pytest.mark.parametrize("names", EVERY)
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision_gives_float32_contexts_and_weights(
    policy: str, names: tuple[str, str], make_layer: Callable, data: tuple
) -> None:
    layer, exact = make_layer(*names, dtype=policy), make_layer(*names)
    context, weights = attend(layer, *data)
    assert [keras.backend.standardize_dtype(v.dtype) for v in (context, weights)] == ["float32", "float32"]
    assert {v.dtype for v in layer.trainable_variables} <= {"float32"}
    np.testing.assert_allclose(weights, attend(exact, *data)[1], atol=0.05)
    np.testing.assert_allclose(np.sum(weights, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("names", EVERY)
def test_the_layer_can_be_rebuilt_from_its_configuration(
    names: tuple[str, str], make_layer: Callable, data: tuple
) -> None:
    layer = make_layer(*names, dtype="mixed_bfloat16")
    copy: Any = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    copy.set_weights(layer.get_weights())
    assert copy.get_config() == layer.get_config()
    for one, two in zip(attend(layer, *data), attend(copy, *data), strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_example_score_of_contributing_works(make_model: Callable) -> None:
    """The code of CONTRIBUTING.md is compared with NumPy and trained in a model."""
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
