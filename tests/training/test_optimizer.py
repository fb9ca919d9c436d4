"""Adam refuses several replicas, whose copies of a weight would diverge; NaN in one gradient spoils all weights;
matrices decay apart from their gradients."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from nmt.training.optimizer import Adam

PROGRAM = """
import json
import keras, tensorflow as tf
from nmt.errors import NmtError
from nmt.training.optimizer import Adam

(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

def outcome(kind, replicas, built=True):
    strategy = tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(replicas)])
    gradients = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant([-1.0, 1.0][context.replica_id_in_sync_group])
    )
    try:
        with strategy.scope():
            weight, optimizer = keras.Variable(1.0), kind(0.1)
            if built:
                optimizer.build([weight])
        step = lambda gradient: optimizer.apply([gradient], [weight])
        tf.function(lambda: strategy.run(step, args=(gradients,)))()
    except NmtError as error:
        return str(error)
    return [float(copy) for copy in strategy.experimental_local_results(weight.value)]

keras_adam = keras.optimizers.Adam
print(json.dumps([outcome(keras_adam, 2), outcome(Adam, 2), outcome(Adam, 2, built=False), outcome(Adam, 1)]))
"""
"""Prints the copies of a weight of 1.0 after an update with a gradient of -1 on one device and +1 on the other."""


@pytest.mark.slow
def test_more_than_one_replica_is_refused() -> None:
    """In a process of its own: TensorFlow sets up its logical devices once per process."""
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": "-1"}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr
    keras_adam, refused, refused_later, one_replica = json.loads(ran.stdout)
    assert keras_adam == [1.0, 1.0]  # the sum of both gradients is 0
    expected = (
        "this Adam does not add gradients, and TensorFlow's strategy has 2 replicas: train with training.devices, or "
        "outside of tf.distribute"
    )
    assert (refused, refused_later) == (expected, expected)
    assert abs(one_replica[0] - 1.1) < 1e-4


@pytest.mark.parametrize("kind", [Adam, keras.optimizers.Adam])
def test_one_nan_in_a_gradient_spoils_all_weights(kind: type[keras.optimizers.Adam]) -> None:
    """As with Keras's Adam. If only some weights were spoilt, training could seem to continue."""
    weights = [keras.Variable(np.ones(2, np.float32)) for _ in range(2)]
    optimizer = kind(0.1, global_clipnorm=1.0)
    optimizer.build(weights)
    tf.function(optimizer.apply)([tf.constant([1.0, np.nan]), tf.constant([1.0, 1.0])])
    assert np.isnan(np.stack([weight.numpy() for weight in weights])).all()


@pytest.mark.parametrize("accumulate", [1, 2])
def test_matrices_decay_by_the_rate_once_in_each_update(accumulate: int) -> None:
    """Without a gradient, a matrix shrinks by the factor 1 - 0.1 x 0.5, and a vector stays."""
    matrix, vector = keras.Variable(np.full((2, 2), 8.0, np.float32)), keras.Variable(np.full(2, 8.0, np.float32))
    steps = accumulate if accumulate > 1 else None
    optimizer = Adam(0.1, weight_decay=0.5, gradient_accumulation_steps=steps)
    optimizer.build([matrix, vector])
    apply = tf.function(lambda: optimizer.apply([tf.zeros((2, 2)), tf.zeros(2)], [matrix, vector]))
    for updates in (1, 2):
        for _ in range(accumulate):
            apply()
        np.testing.assert_allclose(matrix.numpy(), 8 * 0.95**updates, rtol=1e-6)
    np.testing.assert_array_equal(vector.numpy(), 8.0)


def test_the_decay_is_that_of_adamw() -> None:
    """Keras's AdamW as the reference, with a schedule."""
    gradients = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
    found = []
    for kind, options in ((Adam, {"weight_decay": 0.3}), (keras.optimizers.AdamW, {"weight_decay": 0.3}), (Adam, {})):
        weight = keras.Variable(np.ones((4, 5), np.float32))
        optimizer = kind(keras.optimizers.schedules.CosineDecay(0.05, 4), **options)
        optimizer.build([weight])
        for gradient in gradients:
            optimizer.apply([tf.constant(gradient)], [weight])
        found.append(weight.numpy())
    ours, adamw, without = found
    np.testing.assert_allclose(ours, adamw, rtol=1e-5)
    assert np.abs(ours - without).max() > 0.01
