"""Weights as named arrays: each array returns to the variable of its name, and arrays that do not fit are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from nmt.network.weights import WeightsError, assign_arrays, named_arrays, stable_names, variables_to_arrays
from nmt.training.optimizer import Adam

Arrays = dict[str, np.ndarray]


def version_0_1(arrays: Arrays) -> Arrays:
    """These arrays as version 0.1 named them: the index of the variable before its path."""
    return {f"{index:04d}/{name}": array for index, (name, array) in enumerate(arrays.items())}


def built(model: Any) -> keras.optimizers.Optimizer:
    optimizer = keras.optimizers.LossScaleOptimizer(Adam(0.1, use_ema=True, gradient_accumulation_steps=2))
    optimizer.build(model.trainable_variables)
    return optimizer


def assert_unchanged(variables: list[Any], before: Arrays) -> None:
    for name, array in variables_to_arrays(variables).items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("saved_as", [dict, version_0_1])
def test_arrays_return_to_their_variables_in_any_order(make_model: Callable, saved_as: Callable) -> None:
    one, two = make_model(seed=0), make_model(seed=1)
    arrays = saved_as(variables_to_arrays(one.variables))
    assign_arrays(two.variables, dict(reversed(arrays.items())), "somewhere")
    for left, right in zip(one.variables, two.variables, strict=True):
        np.testing.assert_array_equal(left.value, right.value)


def test_two_kernels_of_one_shape_are_told_apart_by_name() -> None:
    """Code that creates its variables in another order reads the files of the code before it."""
    first, second = (
        keras.Variable(np.full((2, 2), value, np.float32), name=name) for name, value in (("a", 1), ("b", 2))
    )
    for arrays in (variables_to_arrays([first, second]), version_0_1(variables_to_arrays([first, second]))):
        first.assign(np.zeros((2, 2)))
        second.assign(np.zeros((2, 2)))
        assign_arrays([second, first], arrays, "somewhere")
        assert (float(first[0, 0]), float(second[0, 0])) == (1, 2)


@pytest.mark.parametrize("architecture", ["rnn", "mixed", "transformer"])
def test_names_do_not_depend_on_what_the_process_has_built_before(make_model: Callable, architecture: str) -> None:
    """Keras counts optimizers and generators of random seeds through the whole process."""
    changes = {} if architecture == "rnn" else {"architecture": architecture, "embedding": 8, "units": 8}
    names = []
    for _ in range(2):
        model = make_model(**changes)
        names.append(list(variables_to_arrays([*model.variables, *built(model).variables])))
    assert names[0] == names[1]
    assert {"seq2seq/output_bias", "adam/iteration", "loss_scale_optimizer/dynamic_scale"} <= set(names[0])


def test_names_are_counted_from_nought_in_the_order_of_keras() -> None:
    paths = ["model/kernel_3", "seed_9/state", "seed_10/state", "adam_4/rate", "adam_4/step"]
    expected = ["model/kernel_3", "seed/state", "seed_1/state", "adam/rate", "adam/step"]
    assert stable_names(paths) == expected
    assert stable_names(reversed(paths)) == expected[::-1]
    assert stable_names(expected) == expected


def test_two_variables_of_one_path_are_an_error() -> None:
    with pytest.raises(ValueError, match="two variables have one path, among .*'a/kernel'"):
        stable_names(["a/kernel", "a/kernel"])


@pytest.mark.parametrize("saved_as", [dict, version_0_1])
def test_arrays_have_the_names_of_today(saved_as: Callable) -> None:
    arrays = {"seq2seq/kernel": np.zeros(1), "adam/seq2seq_kernel_momentum": np.ones(1), "place": np.array("text")}
    assert named_arrays(saved_as(arrays)) == arrays


@pytest.mark.parametrize("saved_as", [dict, version_0_1])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("seq2seq/output_bias"), "has no array seq2seq/output_bias, which the model needs"),
        (lambda arrays: arrays.update(seen=np.zeros(1)), "has an array seen, which the model does not have"),
        (
            lambda arrays: arrays.update({"seq2seq/output_bias": np.zeros((1, 12))}),
            r"seq2seq/output_bias has shape \(1, 12\); the model needs \(12,\)",
        ),
    ],
    ids=["missing", "extra", "shape"],
)
def test_arrays_that_do_not_fit_are_refused_by_name(
    make_model: Callable, saved_as: Callable, change: Callable[[Arrays], Any], message: str
) -> None:
    variables = make_model().trainable_variables
    before = variables_to_arrays(variables)
    arrays = {name: array + 1 for name, array in before.items()}
    change(arrays)
    expected = f"^best.npz: {message}: weights, vocabulary and config.json belong to different runs$"
    with pytest.raises(WeightsError, match=expected):
        assign_arrays(variables, saved_as(arrays), "best.npz")
    assert_unchanged(variables, before)


def test_weights_of_a_model_of_another_size_are_refused(make_model: Callable, model: Any) -> None:
    deeper = make_model(encoder_layers=2).trainable_variables
    before = variables_to_arrays(deeper)
    with pytest.raises(WeightsError, match=r"best.npz: has no array seq2seq/encoder/layer_2/"):
        assign_arrays(deeper, variables_to_arrays(model.trainable_variables), "best.npz")
    with pytest.raises(WeightsError, match=r"best.npz: has an array seq2seq/encoder/layer_2/"):
        assign_arrays(model.trainable_variables, before, "best.npz")
    wider = make_model(embedding=7).trainable_variables
    with pytest.raises(WeightsError, match=r"best.npz: .*embeddings has shape \(12, 7\); the model needs \(12, 6\)"):
        assign_arrays(model.trainable_variables, variables_to_arrays(wider), "best.npz")
    assert_unchanged(deeper, before)
