"""The history of a run: history.csv, and its rows as TensorBoard events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nmt.backend.machine import peak_memory
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.training.state import TrainingState
from nmt.training.tensorboard import EventWriter


class History:
    """One row for each validated step. Trouble with history.csv is reported and never ends the training.

    Args:
        run: the run in training, whose history.csv is written.
        step: step that the run resumes from; later rows are dropped, because their steps are trained again.
        guided: whether attention is guided, which adds a column.
        steps_per_epoch: batches of an epoch, which the estimate of the plan may miss by a few.
        say: takes lines for the user.
    """

    def __init__(self, run: Run, step: int, guided: bool, steps_per_epoch: int, say: Callable[[str], None]) -> None:
        self._run, self._guided, self._steps_per_epoch, self._say = run, guided, steps_per_epoch, say
        # A run without checkpoints starts over, so its old rows do not count.
        saved = self._saved_rows() if step else []
        self._rows: dict[int, dict[str, Any]] = {int(row["step"]): row for row in saved if int(row["step"]) <= step}
        self._events = EventWriter(run.directory / "tensorboard")

    def _saved_rows(self) -> list[dict[str, str]]:
        """Rows of history.csv. A file that cannot be read is moved aside."""
        try:
            return self._run.read_history()
        except RunError:
            aside = self._run.move_history_aside()
            self._say(
                f"{aside.with_name('history.csv')}: not a table of training any more: moved to {aside.name}; "
                "a new table begins"
            )
            return []

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows, one for each validated step."""
        return list(self._rows.values())

    def add(self, state: TrainingState, measured: Mapping[str, float], learning_rate: float) -> dict[str, Any]:
        """Writes history.csv with a row for this step, and returns the row. Loss and speed are empty before a step.

        The step has a row already if a process was killed between that row and its checkpoint. The new row replaces it.
        """
        row: dict[str, Any] = {
            "pass": state.pass_index,
            "step": state.step,
            "train_loss": self._mean(state.losses, state),
            **({"guided_loss": self._mean(state.guided, state)} if self._guided else {}),
            **{f"validation_{name}": round(value, 4) for name, value in measured.items()},
            "learning_rate": float(f"{learning_rate:.4g}"),
            "tokens_per_second": _speed(state),
            "seconds": round(state.seconds, 1),
            "peak_memory_mib": peak_memory(),
            "epochs": round(state.pass_index + min(state.batch / self._steps_per_epoch, 1), 3),
        }
        self._rows[state.step] = row
        try:
            self._run.write_history(list(self._rows.values()))
        except OSError as error:
            self._say(f"{error.filename}: {error.strerror}; the next validation writes it with the row of this step")
        return row

    @staticmethod
    def _mean(total: float, state: TrainingState) -> float | str:
        """The mean of the batches since the last validation; empty without a batch."""
        return round(total / state.batches, 4) if state.batches else ""

    def add_events(self, row: Mapping[str, Any], image: np.ndarray | None) -> None:
        """Writes a row, and an alignment as pixels, as TensorBoard events."""
        step = int(row["step"])
        self._events.scalars(step, {name: float(value) for name, value in row.items() if value != ""})
        if image is not None:
            self._events.image(step, "alignment", image)


def _speed(state: TrainingState) -> int | str:
    """Target tokens a second, without the steps that compiled if there are others; empty before a step."""
    seconds, tokens = state.seconds - state.compiling_seconds, state.tokens - state.compiling_tokens
    if not tokens:
        seconds, tokens = state.seconds, state.tokens
    return round(tokens / seconds) if seconds > 0 else ""
