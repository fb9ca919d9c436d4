"""Trainings in float32, bfloat16 and float16 agree over their whole length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import copy_task
import numpy as np
import pytest

from nmt.run.arrays import load_arrays
from nmt.run.directory import Run
from nmt.training.trainer import train

LOSS_BOUND = {"mixed_bfloat16": 0.01, "mixed_float16": 0.003}
"""Greatest difference from float32 of the mean training losses of an epoch, in nats: of the words, and of attention
where it is guided."""
WEIGHT_BOUND = {"mixed_bfloat16": 0.05, "mixed_float16": 0.01}
"""Greatest distance between the best weights, as a share of the size of those of float32."""

TRANSFORMER = {"transformer": {"heads": 4, "feed_forward": 64, "encoder_layers": 1, "decoder_layers": 1}}
GUIDED = {"guided": {"links": "train.align"}}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "recurrent": ({}, {}),
    "LSTM decoder": ({"cell": "lstm"}, {}),
    "Transformer": ({"architecture": "transformer", **TRANSFORMER}, {}),
    "Transformer encoder, recurrent decoder": ({"architecture": "mixed", **TRANSFORMER}, {}),
    "guided": ({}, GUIDED),
    "guided Transformer": ({"architecture": "transformer", **TRANSFORMER}, GUIDED),
}
"""Changes of the model and of the training."""


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_half_precision_follows_float32_over_a_whole_training(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without dropout, so that the trainings differ in rounding alone."""
    monkeypatch.chdir(tmp_path)
    model, training = CASES[case]
    copy_task.write_corpus(tmp_path, train=600, validation=20)
    silent = dict.fromkeys(("embedding", "encoder", "state", "context", "readout", "residual"), 0.0)
    runs = {}
    for precision in ("float32", *LOSS_BOUND):
        changes = {"passes": 6, "precision": precision, "ema": 0.0, **training}
        settings = copy_task.config(tmp_path, name=precision, model={"dropout": silent, **model}, training=changes)
        runs[precision] = Run.open(train(settings).directory)
    columns = ["train_loss", *(["guided_loss"] if training else [])]
    losses = {name: _losses(run, columns) for name, run in runs.items()}
    weights = {name: _weights(run) for name, run in runs.items()}
    assert losses["float32"][-1, 0] < 0.6 * losses["float32"][0, 0], "it has learned"
    size = np.linalg.norm(weights["float32"])
    for name in LOSS_BOUND:
        difference = np.abs(losses[name] - losses["float32"]).max()
        distance = np.linalg.norm(weights[name] - weights["float32"]) / size
        print(f"{name}: losses differ by {difference:.4f} nats, weights by {distance:.4f}")
        assert difference < LOSS_BOUND[name], name
        assert 0 < distance < WEIGHT_BOUND[name], name


def _losses(run: Run, columns: list[str]) -> np.ndarray:
    """A row per epoch."""
    return np.array([[float(row[column]) for column in columns] for row in run.read_history()])


def _weights(run: Run) -> np.ndarray:
    return np.concatenate([array.ravel() for _, array in sorted(load_arrays(run.best).items())]).astype(np.float64)
