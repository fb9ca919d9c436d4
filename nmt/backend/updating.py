"""A training step of any model as one compiled program, on TensorFlow and on JAX."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import keras

from nmt.backend.compiling import any_shapes, snapshot


def compile_update(
    loss: Callable[..., Any], model: keras.Model, optimizer: keras.optimizers.Optimizer
) -> Callable[..., Any]:
    """A function of a batch that updates the model's weights once and returns the loss.

    On TensorFlow one trace serves every shape; on JAX each shape gets a program of its own.

    Args:
        loss: computes a scalar from the batch; reads no variables but the model's.
        model: a built model.
        optimizer: built on the model's trainable variables.
    """
    if keras.backend.backend() == "tensorflow":
        return _tensorflow(loss, model, optimizer)
    return _jax(loss, model, optimizer)


def _tensorflow(loss: Callable[..., Any], model: keras.Model, optimizer: keras.optimizers.Optimizer) -> Any:
    import tensorflow as tf

    def step(*batch: Any) -> Any:
        variables = model.trainable_variables
        with snapshot(model.variables) as scope, tf.GradientTape() as tape:
            weights = [scope.get_current_value(variable) for variable in variables]
            tape.watch(weights)
            value = loss(*batch)
        for variable in model.non_trainable_variables:  # the states of random generators
            variable.assign(scope.get_current_value(variable))
        gradients = tape.gradient(value, weights, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        optimizer.apply([tf.convert_to_tensor(gradient) for gradient in gradients], variables)
        return value

    compiled = tf.function(step, autograph=False)
    programs: list[Any] = []

    def update(*batch: Any) -> Any:
        batch = tf.nest.map_structure(tf.convert_to_tensor, batch)
        if not programs:
            programs.append(compiled.get_concrete_function(*any_shapes(batch)))
        return programs[0](*tf.nest.flatten(batch))

    return update


def _jax(loss: Callable[..., Any], model: keras.Model, optimizer: keras.optimizers.Optimizer) -> Any:
    import jax

    def stateless_loss(trainable: Any, fixed: Any, *batch: Any) -> Any:
        variables = [*model.trainable_variables, *model.non_trainable_variables]
        with keras.StatelessScope(state_mapping=list(zip(variables, [*trainable, *fixed], strict=True))) as scope:
            value = loss(*batch)
        return value, [scope.get_current_value(variable) for variable in model.non_trainable_variables]

    @partial(jax.jit, donate_argnums=(0, 1, 2))  # new values replace the old ones in place
    def step(trainable: Any, fixed: Any, moments: Any, *batch: Any) -> Any:
        (value, fixed), gradients = jax.value_and_grad(stateless_loss, has_aux=True)(trainable, fixed, *batch)
        trainable, moments = optimizer.stateless_apply(moments, gradients, trainable)
        return value, (trainable, fixed, moments)

    def update(*batch: Any) -> Any:
        groups = (model.trainable_variables, model.non_trainable_variables, optimizer.variables)
        value, values = step(*([variable.value for variable in group] for group in groups), *batch)
        for group, new in zip(groups, values, strict=True):
            for variable, array in zip(group, new, strict=True):
                variable.assign(array)
        return value

    return update
