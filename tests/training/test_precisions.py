"""Trainings in float32, bfloat16 and float16 agree over their whole length."""

from __future__ import annotations

from pathlib import Path

import copy_task
import numpy as np
import pytest

from nmt.run.arrays import load_arrays
from nmt.run.directory import Run
from nmt.training.trainer import train

LOSS_BOUND = {"mixed_bfloat16": 0.03, "mixed_float16": 0.003}
"""Greatest difference from float32 of the mean training loss of an epoch, in nats."""
WEIGHT_BOUND = {"mixed_bfloat16": 0.05, "mixed_float16": 0.01}
"""Greatest distance between the best weights, as a share of the size of those of float32."""


@pytest.mark.slow
def test_half_precision_follows_float32_over_a_whole_training(tmp_path: Path) -> None:
    """Without dropout, so that the trainings differ in rounding alone."""
    copy_task.write_corpus(tmp_path, train=600, validation=20)
    silent = {"embedding": 0.0, "encoder": 0.0, "state": 0.0, "context": 0.0, "readout": 0.0}
    runs = {}
    for precision in ("float32", *LOSS_BOUND):
        changes = {"model": {"dropout": silent}, "training": {"passes": 6, "precision": precision, "ema": 0.0}}
        settings = copy_task.config(tmp_path, name=precision, **changes)
        runs[precision] = Run.open(train(settings).directory)
    losses = {name: _losses(run) for name, run in runs.items()}
    weights = {name: _weights(run) for name, run in runs.items()}
    assert losses["float32"][-1] < 0.5 * losses["float32"][0], "it has learned"
    size = np.linalg.norm(weights["float32"])
    for name in LOSS_BOUND:
        difference = np.abs(losses[name] - losses["float32"]).max()
        distance = np.linalg.norm(weights[name] - weights["float32"]) / size
        print(f"{name}: losses differ by {difference:.4f} nats, weights by {distance:.4f}")
        assert 0 < difference < LOSS_BOUND[name], name
        assert 0 < distance < WEIGHT_BOUND[name], name


def _losses(run: Run) -> np.ndarray:
    return np.array([float(row["train_loss"]) for row in run.read_history()])


def _weights(run: Run) -> np.ndarray:
    return np.concatenate([array.ravel() for _, array in sorted(load_arrays(run.best).items())]).astype(np.float64)
