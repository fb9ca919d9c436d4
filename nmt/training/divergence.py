"""Refusal of losses and weights that are NaN or infinite."""

from __future__ import annotations

from typing import Any

import numpy as np

from nmt.run.directory import Run
from nmt.training.errors import TrainingError


def require_finite(found: str, run: Run, *values: Any) -> None:
    """Ends the training where a value is NaN or infinite.

    NaN or infinite weights never recover, so this check comes before each save.

    Args:
        found: step and finding, which begin the message.
        run: the run in training.
        values: numbers or arrays.

    Raises:
        TrainingError: a value is NaN or infinite.
    """
    if all(np.isfinite(value).all() for value in values):
        return
    raise TrainingError(
        f"{found}, and training cannot recover from it; files saved before are in {run.directory}. Try a "
        f"smaller training.schedule.learning_rate (now {run.config.training.schedule.learning_rate:g}), a longer "
        "warm-up, or training.precision float32, under a new name"
    )
