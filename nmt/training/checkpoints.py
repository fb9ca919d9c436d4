"""Checkpoints: everything that a resumed training needs to end with the weights of an uninterrupted one."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np

from nmt.network.weights import assign_arrays, variables_to_arrays
from nmt.run.arrays import load_arrays
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.weight_checks import require_numbers
from nmt.training.divergence import require_finite
from nmt.training.state import TrainingState

STATE = "place"
"""Name of the training state among the arrays of a checkpoint, as the first releases wrote it."""


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


def newest_checkpoint(run: Run) -> Checkpoint | None:
    """Reads the newest checkpoint of a run; None for a run without checkpoints.

    Raises:
        RunError: it is damaged; the message says what happens when it is deleted.
    """
    paths = run.checkpoints()
    if not paths:
        return None
    try:
        arrays = load_arrays(paths[-1])
        state = _read_state(paths[-1], arrays.pop(STATE, None))
        require_numbers(arrays, paths[-1])
    except RunError as error:
        then = "resumes from the checkpoint before it"
        if len(paths) == 1:
            then = f"starts over, because there is no other; {run.best.name} translates until then"
        raise RunError(f"{error}: delete it, and training {then}") from None
    return Checkpoint(paths[-1], arrays, state)


def _read_state(checkpoint: Path, saved: np.ndarray | None) -> TrainingState:
    """Reads the JSON of a training state.

    Raises:
        RunError: there is none, or it has fields of another version.
    """
    try:
        return TrainingState(**json.loads(str(saved)))
    except (ValueError, TypeError):
        raise RunError(f"{checkpoint}: has no training state that this version of nmt can read") from None
