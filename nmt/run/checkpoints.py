"""Checkpoints of a run: files named by their training step, the mean of several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from nmt.network.weights import named_arrays
from nmt.run.arrays import load_arrays, save_arrays
from nmt.run.errors import RunError
from nmt.run.weight_checks import require_numbers


def list_checkpoints(directory: Path) -> list[Path]:
    """Checkpoint files in `directory`, the oldest first."""
    return sorted(directory.glob("[0-9]*.npz"))


def save_checkpoint(directory: Path, step: int, arrays: Mapping[str, np.ndarray], keep: int) -> None:
    """Saves a checkpoint and deletes all but the newest `keep`."""
    save_arrays(directory / f"{step:09d}.npz", arrays)
    for path in list_checkpoints(directory)[:-keep]:
        path.unlink()


def average_checkpoints(directory: Path, count: int, names: Iterable[str]) -> dict[str, np.ndarray]:
    """The mean of the weights with these names over the newest `count` checkpoints.

    Raises:
        RunError: there are fewer checkpoints, or a checkpoint lacks one of the names.
    """
    names = list(names)
    newest = list_checkpoints(directory)[-count:]
    if len(newest) < count:
        raise RunError(
            f"{directory.parent} keeps {len(newest)} checkpoints, {count} are needed: "
            f"train with training.checkpoints.keep {count} or more"
        )
    loaded = [named_arrays(load_arrays(path)) for path in newest]
    for path, arrays in zip(newest, loaded, strict=True):
        if missing := [name for name in names if name not in arrays]:
            raise RunError(f"{path}: has no array {missing[0]}, so it belongs to another model than config.json")
        require_numbers({name: arrays[name] for name in names}, path)
    return {name: np.mean([arrays[name] for arrays in loaded], axis=0) for name in names}
