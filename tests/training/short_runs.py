"""Short trainings for the tests: a step that only counts, and what a run directory holds afterwards."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import copy_task
import numpy as np

from nmt.backend.determinism import set_determinism
from nmt.batches.arrays import Batch
from nmt.config import RunConfig
from nmt.progress import StatusLine
from nmt.run.arrays import load_arrays
from nmt.run.directory import Run
from nmt.training import validation
from nmt.training.preparation.prepare import prepare
from nmt.training.trainer import Trainer, TrainingResult


class CountingStep:
    """Replaces the compiled step: sets the output bias to the number of the step, and records the batches.

    Args:
        signals: signals that this process receives at a step.

    `losses` and `weights` override the loss and the output bias of a step.
    """

    def __init__(self, signals: dict[int, list[int]]) -> None:
        self.signals, self.batches = signals, []
        self.losses: dict[int, float] = {}
        self.weights: dict[int, float] = {}

    def __call__(self, model: Any, optimizer: Any, smoothing: float, slices: int, replicas: Any) -> Any:
        def step(batch: Batch) -> float:
            self.batches.append([np.asarray(side).tobytes() for side in batch])
            optimizer.iterations.assign_add(1)
            count = int(optimizer.iterations)
            model.output_bias.assign(np.full(model.output_bias.shape, self.weights.get(count, count), np.float32))
            for number in self.signals.pop(count, []):
                os.kill(os.getpid(), number)
            return self.losses.get(count, 1.0)

        return step


def let_validations_find(monkeypatch, bleu: Any, loss: Any = None) -> None:
    """Gives the next validations these values, one after the other; the loss is the BLEU where it is not given."""
    values = zip(bleu, loss or bleu, strict=False)
    monkeypatch.setattr(
        validation, "measure", lambda *_: dict(zip(("bleu", "loss"), map(float, next(values)), strict=True))
    )


def config(
    corpus: Path, directory: Path, name: str = "run", model: dict[str, Any] | None = None, **fields: Any
) -> RunConfig:
    """A run of 3 epochs with 10 batches each; `fields` are of the training."""
    training = {"batch_tokens": 100, "passes": 3, "ema": 0.0, **fields}
    made = copy_task.config(corpus, name=name, model=model or {}, training=training)
    return replace(made, directory=str(directory))


def guided(corpus: Path, directory: Path, name: str, links: str, **fields: Any) -> RunConfig:
    """The same run with attention guided by a file of links."""
    return config(corpus, directory, name, guided={"links": links, **fields.pop("guided", {})}, **fields)


def make_trainer(corpus: Path, directory: Path, name: str = "run", **fields: Any) -> Trainer:
    """A trainer with the real step, which has set up its run and not begun."""
    settings = config(corpus, directory, name, **fields)
    set_determinism(settings.training.seed, False)
    return Trainer(prepare(settings, settings.training.precision, [].append), StatusLine(io.StringIO()))


def weights_of(path: Path) -> float:
    """The step at which these weights were saved."""
    arrays = load_arrays(path)
    return float(next(value for name, value in arrays.items() if name.endswith("output_bias"))[0])


def history(result: TrainingResult) -> list[dict[str, str]]:
    """Rows of history.csv."""
    return Run.open(result.directory).read_history()


def saved_state(result: TrainingResult) -> dict[str, Any]:
    """The training state in the newest checkpoint."""
    arrays = load_arrays(Run.open(result.directory).checkpoints()[-1])
    return json.loads(str(arrays["place"]))
