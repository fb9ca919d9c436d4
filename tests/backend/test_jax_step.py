"""The training step on JAX: it replaces weights and moments in place, and its loss stays on the device."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json
import jax, keras, numpy as np
from nmt.batches.arrays import GuidedBatch, Sequences, link_rows, make_batch
from nmt.config import AttentionConfig, DropoutConfig, ModelConfig
from nmt.network.model import Seq2Seq
from nmt.network.weights import variables_to_arrays
from nmt.training.averaging import averaged_arrays
from nmt.training.optimizer import Adam
from nmt.training.step import TrainStep

no_dropout = DropoutConfig(embedding=0, encoder=0, state=0, context=0, readout=0)
model = Seq2Seq(ModelConfig(units=8, embedding=8, attention=AttentionConfig(units=4), dropout=no_dropout), 12, 12)
model.build()
optimizer = Adam(0.01, use_ema=True, gradient_accumulation_steps=2)
optimizer.build(model.trainable_variables)
step = TrainStep(model, optimizer, 0.1)
sources, targets = Sequences.of([[4, 7, 9, 5], [6]]), Sequences.of([[5, 6, 11], [9, 4]])
batch = make_batch(sources, targets, np.arange(2))
links = link_rows(Sequences.of([[0, 1], []]), np.arange(2), (*batch.target_out.shape, batch.source.shape[1]))

variables = [*model.variables, *optimizer.variables]
replaced, unchanged, losses = [], [], []
for update in (step, step, lambda batch: step.guided(GuidedBatch(*batch, links), 1.0)[0]):
    kept = variables_to_arrays(variables) | {"average/" + k: v for k, v in averaged_arrays(model, optimizer).items()}
    copies = {name: np.array(array) for name, array in kept.items()}
    before = [variable.value for variable in variables]
    losses.append(update(batch))
    replaced.append(sum(value.is_deleted() for value in before) / len(before))
    unchanged.append(all(np.array_equal(kept[name], copies[name]) for name in kept))
print(json.dumps({
    "replaced": replaced,
    "unchanged": unchanged,
    "on device": all(isinstance(loss, jax.Array) for loss in losses),
    "losses": [float(loss) for loss in losses],
}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("jax"), reason="jax is not installed: pip install -e .[jax]")
def test_a_step_replaces_weights_and_moments_in_place() -> None:
    """Arrays that were read before a step, for a checkpoint or a validation, keep their values."""
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "PYTHONPATH": paths}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "donated" not in ran.stderr
    found = json.loads(ran.stdout)
    assert found["replaced"] == [1.0, 1.0, 1.0]
    assert found["unchanged"] == [True, True, True]
    assert found["on device"]
    assert found["losses"][2] < found["losses"][0]
