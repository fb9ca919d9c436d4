"""Writes files with the writers of the package that need neither Keras nor TensorFlow, in a directory that is named.

Each function may find any state that a stop of an earlier call has left, and ends with the same files.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nmt.files.resumable_outputs import ResumableOutputs
from nmt.run.checkpoints import list_checkpoints, load_checkpoint, save_checkpoint
from nmt.run.errors import RunError
from nmt.run.history import read_history, write_history

LINES, BLOCK = 7, 2
STEPS = 4


def write_outputs(directory: Path) -> None:
    """Two files that belong together line by line, as `nmt translate --resume --output --alignments` writes them."""
    outputs = ResumableOutputs([str(directory / name) for name in ("first.txt", "second.txt")], True, BLOCK)
    with outputs.open("the command") as files:
        for line in range(outputs.done, LINES):
            for file in files:
                file.write(f"{line} of {Path(file.name).name.strip('.').removesuffix('.part')}\n")
                if line % BLOCK == BLOCK - 1:
                    file.flush()


def write_run(directory: Path) -> None:
    """A history and checkpoints, one row and one file after the other, as a training writes them."""
    for step in range(_newest(directory) + 1, STEPS + 1):
        rows = [row for row in read_history(directory / "history.csv") if int(row["step"]) < step]
        write_history(directory / "history.csv", [*rows, {"step": step, "loss": 1 / step}])
        save_checkpoint(directory / "checkpoints", step, {"weights": np.full(3, step, np.float32)}, keep=2)


def _newest(directory: Path) -> int:
    """The step of the newest checkpoint that can be read; damaged newer ones are removed."""
    for path in reversed(list_checkpoints(directory / "checkpoints")):
        try:
            return int(load_checkpoint(path)["weights"][0])
        except RunError:
            path.unlink()
    return 0


WRITERS = {"outputs": write_outputs, "run": write_run}

if __name__ == "__main__":
    WRITERS[sys.argv[1]](Path(sys.argv[2]))
