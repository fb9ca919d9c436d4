"""The network in float64, for finite differences, which float32 is too coarse for.

The network says float32 where half precision would lose too much. Here every float32 that it says is a float64, so that
the same code, with the same written-out gradients, computes with 16 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

STEP = 1e-4
"""Of the differences. The error of a difference of fourth order is about STEP^4, and its rounding 1e-16 / STEP."""


@contextmanager
def double_precision() -> Iterator[None]:
    """Everything that is built and computed inside has float64 for float32."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("cast", "arange", "zeros_like"):
            patch.setattr(keras.ops, name, _widened(getattr(keras.ops, name)))
        patch.setattr(keras.layers.Layer, "add_weight", _widened(keras.layers.Layer.add_weight))
        patch.setattr(keras.src.dtype_policies, "get", _widened(keras.src.dtype_policies.get))
        before = keras.config.floatx(), keras.config.dtype_policy()
        keras.config.set_floatx("float64")
        keras.config.set_dtype_policy("float64")  # Keras keeps the policy that it used first
        try:
            yield
        finally:
            keras.config.set_floatx(before[0])
            keras.config.set_dtype_policy(before[1])


def _widened(function: Callable) -> Callable:
    def widened(*arguments: Any, **named: Any) -> Any:
        named = {name: _wide(value) for name, value in named.items()}
        return function(*map(_wide, arguments), **named)

    return widened


def _wide(value: Any) -> Any:
    return "float64" if isinstance(value, str) and value == "float32" else value


def require_gradients(
    loss: Callable[..., Any],
    values: Sequence[Any],
    variables: Sequence[Any] = (),
    seed: int = 0,
    tolerance: float = 1e-8,
) -> None:
    """Requires that the gradients of a loss equal its finite differences in float64.

    All values and variables are moved along one random direction. It mixes all entries, so an error in any entry of a
    gradient shows. Only then is each moved alone, to name the wrong gradient.

    Args:
        loss: gives a scalar from the values; reads the variables.
        values: arrays that the loss depends on.
        variables: Keras variables that the loss depends on.
        tolerance: greatest difference, relative to the sizes of gradient and direction.
    """
    random = np.random.default_rng(seed)
    values = [tf.constant(np.asarray(value, np.float64)) for value in values]
    names = [*(f"value {place}" for place in range(len(values))), *(variable.path for variable in variables)]
    with tf.GradientTape() as tape:
        tape.watch(values)
        total = loss(*values)
    assert total.dtype == tf.float64
    found = tape.gradient(total, [*values, *(variable.value for variable in variables)])
    missing = [name for name, gradient in zip(names, found, strict=True) if gradient is None]
    assert not missing, f"no gradient by {missing}"
    gradients = [tf.convert_to_tensor(gradient).numpy() for gradient in found]
    zero = [name for name, gradient in zip(names, gradients, strict=True) if not np.abs(gradient).max() > 1e-9]
    assert not zero, f"the gradient by {zero} is zero"
    directions = [random.normal(size=gradient.shape) for gradient in gradients]

    def error(moved: Sequence[int]) -> float:
        parts = [direction * (place in moved) for place, direction in enumerate(directions)]
        slope = sum(float((one * other).sum()) for one, other in zip(gradients, parts, strict=True))
        size = sum(np.linalg.norm(gradients[place]) * np.linalg.norm(directions[place]) for place in moved)
        return abs(slope - _slope(loss, values, variables, parts)) / size

    together = error(range(len(names)))
    if together >= tolerance:
        errors = {name: f"{error([place]):.1e}" for place, name in enumerate(names)}
        raise AssertionError(f"relative error {together:.1e} in the gradient; by each alone: {errors}")


def _slope(loss: Callable, values: list[Any], variables: Sequence[Any], directions: list[np.ndarray]) -> float:
    """The derivative of the loss along a direction, by a central difference of fourth order."""
    before = [variable.numpy() for variable in variables]

    def at(step: float) -> float:
        for variable, start, direction in zip(variables, before, directions[len(values) :], strict=True):
            variable.assign(start + step * direction)
        return float(loss(*(value + step * part for value, part in zip(values, directions, strict=False))))

    try:
        return (8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))) / (12 * STEP)
    finally:
        for variable, start in zip(variables, before, strict=True):
            variable.assign(start)
