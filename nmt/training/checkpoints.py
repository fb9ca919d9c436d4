"""Checkpoints: everything that a resumed training needs to end with the weights of an uninterrupted one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np

from nmt.network.building import weight_shapes
from nmt.network.weights import assign_arrays, named_arrays, require_shapes, variables_to_arrays
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.weight_checks import require_numbers
from nmt.training.divergence import require_finite
from nmt.training.state import STATE, TrainingState


def save_checkpoint(run: Run, variables: list[keras.Variable], state: TrainingState) -> None:
    """Saves a run's variables and its training state, and deletes checkpoints beyond `training.checkpoints.keep`.

    Args:
        variables: of model and optimizer: weights, averages, moments, seeds of dropout.

    Raises:
        TrainingError: a variable is NaN or infinite; nothing is saved.
    """
    arrays = variables_to_arrays(variables)
    require_finite(f"step {state.step}: weights are NaN or infinite", run, *arrays.values())
    arrays[STATE] = np.array(json.dumps(asdict(state)))
    run.save_checkpoint(state.step, arrays)


class Checkpoint(NamedTuple):
    """A checkpoint that has been read."""

    path: Path
    arrays: dict[str, np.ndarray]
    """Values of the variables."""
    state: TrainingState

    def restore(self, variables: list[keras.Variable]) -> None:
        """Assigns the values to the variables that `save_checkpoint` saved.

        Raises:
            EngineError: the variables have another number or other shapes.
        """
        assign_arrays(variables, self.arrays, str(self.path))


def newest_checkpoint(run: Run, say: Callable[[str], None]) -> Checkpoint | None:
    """Reads the newest checkpoint of a run that is undamaged; None for a run without checkpoints.

    Damaged checkpoints beyond it get another name, so that they do not count as the newest ones.

    Args:
        say: takes a line on each damaged checkpoint.

    Raises:
        RunError: all checkpoints are damaged; the message says what happens when they are deleted.
        WeightsError: the newest undamaged checkpoint belongs to another model than config.json describes.
    """
    damaged: dict[Path, RunError] = {}
    for path in reversed(run.checkpoints()):
        try:
            checkpoint = _load(run, path)
        except RunError as error:
            damaged[path] = error
            continue
        for other, problem in damaged.items():
            aside = other.rename(other.with_suffix(".damaged"))
            say(f"{problem}: moved to {aside.name}; training resumes from {path.name}, the checkpoint before it")
        return checkpoint
    if not damaged:
        return None
    problems = "; ".join(map(str, damaged.values()))
    advice = "delete it" if len(damaged) == 1 else "they are all damaged: delete them"
    raise RunError(
        f"{problems}: {advice}, and training starts over, because there is no other; {run.best.name} translates until "
        "then"
    )


def _load(run: Run, path: Path) -> Checkpoint:
    arrays = run.load_checkpoint(path)
    state = _read_state(path, arrays.pop(STATE, None))
    require_numbers(arrays, path)
    _require_model(run, arrays, path)
    return Checkpoint(path, arrays, state)


def _require_model(run: Run, arrays: Mapping[str, np.ndarray], path: Path) -> None:
    """Refuses a checkpoint of another model than config.json describes, before a model of its sizes is built."""
    expected = weight_shapes(run.config.model, run.source.size, run.target.size)
    found = {name: array.shape for name, array in named_arrays(arrays).items() if name in expected}
    require_shapes(found, expected, str(path))


def _read_state(checkpoint: Path, saved: np.ndarray | None) -> TrainingState:
    """Reads the JSON of a training state.

    Raises:
        RunError: there is none, or it has fields of another version or values of other types.
    """
    try:
        return TrainingState.from_json(str(saved))
    except (ValueError, TypeError, RecursionError):
        raise RunError(f"{checkpoint}: has no training state that this version of nmt can read") from None
