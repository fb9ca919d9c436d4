"""One update on several replicas is one update on the whole batch, on TensorFlow and on JAX."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nmt.batches.arrays import Batch, Sequences, make_batch
from nmt.training.distribution.cluster import Cluster
from nmt.training.distribution.seeds import common_seed, replica_seed
from nmt.training.distribution.tensorflow_replicas import TensorFlowReplicas
from nmt.training.step import TrainStep

PROGRAM = Path(__file__).with_name("replica_updates.py")
needs_jax = pytest.mark.skipif(
    not importlib.util.find_spec("jax"), reason="jax is not installed: pip install -e .[jax]"
)


def updates(backend: str, *replicas: int) -> list[dict[str, Any]]:
    """What `replica_updates.py` finds on these numbers of replicas."""
    repository = Path(__file__).parents[2]
    variables = {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "-1"}
    environment = {**os.environ, **variables, "PYTHONPATH": str(repository)}
    command = [sys.executable, PROGRAM, *map(str, replicas)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", pytest.param("jax", marks=needs_jax)])
def test_several_replicas_train_as_one(backend: str) -> None:
    """Without dropout. Batches with fewer rows than replicas are among them; accumulation, clipping of the sum, moving
    averages, loss scaling and guided attention too."""
    four, two = updates(backend, 4, 2)  # in one process, so a second training may have other devices
    for found in four, two:
        assert found["two updates"] < 1e-5 and found["first losses"] < 1e-5, found
        assert found["100 losses"] < 1e-4 and found["100 updates"] < 1e-5, found
        assert found["resumed on more"] < 1e-5, found
    assert four["adam float32"] < 1e-5 and two["adam mixed_float16"] < 2e-3, (four, two)
    assert four["dropout repeats"] == 0 and four["dropout losses repeat"] and four["masks differ"], four


def test_the_program_of_a_strategy_computes_the_step(make_model: Callable) -> None:
    """With one replica, so that this process need not divide its processor."""
    rows = [[4, 7, 9], [6]], [[5, 6], [9, 4, 8]]
    batch: Batch = make_batch(Sequences.of(rows[0]), Sequences.of(rows[1]), np.arange(2))
    plain, strategy = make_model(), tf.distribute.MirroredStrategy(["CPU:0"])
    replicas, results = TensorFlowReplicas(strategy, Cluster()), []
    for scope in (None, strategy):
        with scope.scope() if scope else tf.init_scope():
            model = make_model() if scope else plain
            optimizer = keras.optimizers.SGD(0.5)
            optimizer.build(model.trainable_variables)
        step = TrainStep(model, optimizer, 0.1, replicas=replicas)
        losses = replicas.program(step, step._loss, guided=False)(*batch) if scope else [step(batch)]
        results.append([float(losses[0]), *(np.array(variable) for variable in model.trainable_variables)])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert np.asarray(replicas.counts).tolist() == [7.0, 0.0, 0.0]  # target tokens, links, wishes to stop


def test_replicas_draw_from_seeds_that_differ_and_save_the_same_ones() -> None:
    states = [tf.constant([seed, 5], tf.int64) for seed in (0, 1, 2**31 - 1)]
    drawn = {tuple(replica_seed(state, replica).numpy()) for state in states for replica in range(64)}
    assert len(drawn) == 3 * 64
    for state in states:
        np.testing.assert_array_equal(replica_seed(state, 0), state)
        np.testing.assert_array_equal(common_seed(replica_seed(state, 3) + [0, 2], 3), state + [0, 2])
