"""The history of a run: history.csv, and its rows as TensorBoard events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nmt.backend.machine import peak_memory
from nmt.run.directory import Run
from nmt.training.state import TrainingState
from nmt.training.tensorboard import EventWriter


class History:
    """One row for each validation.

    Args:
        run: the run in training, whose history.csv is written.
        step: step that the run resumes from; later rows are dropped, because their steps are trained again.
        guided: whether attention is guided, which adds a column.
    """

    def __init__(self, run: Run, step: int, guided: bool) -> None:
        self._run, self._guided = run, guided
        # A run without checkpoints starts over, so its old rows do not count.
        saved = run.read_history() if step else []
        self.rows: list[dict[str, Any]] = [dict(row) for row in saved if int(row["step"]) <= step]
        self._events = EventWriter(run.directory / "tensorboard")

    def add(self, state: TrainingState, measured: Mapping[str, float], learning_rate: float) -> dict[str, Any]:
        """Writes history.csv with one more row, and returns the row."""
        row: dict[str, Any] = {
            "pass": state.pass_index,
            "step": state.step,
            "train_loss": round(state.losses / max(state.batches, 1), 4),
            **({"guided_loss": round(state.guided / max(state.batches, 1), 4)} if self._guided else {}),
            **{f"validation_{name}": round(value, 4) for name, value in measured.items()},
            "learning_rate": float(f"{learning_rate:.4g}"),
            "tokens_per_second": round(state.tokens / max(state.seconds, 1e-9)),
            "seconds": round(state.seconds, 1),
            "peak_memory_mib": peak_memory(),
        }
        self.rows.append(row)
        self._run.write_history(self.rows)
        return row

    def add_events(self, row: Mapping[str, Any], image: np.ndarray | None) -> None:
        """Writes a row, and an alignment as pixels, as TensorBoard events."""
        step = int(row["step"])
        self._events.scalars(step, {name: float(value) for name, value in row.items()})
        if image is not None:
            self._events.image(step, "alignment", image)
