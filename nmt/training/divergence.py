"""Refusal of losses and weights that are NaN or infinite, and of gradients that overflow at each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from nmt.run.directory import Run
from nmt.training.errors import TrainingError

LEAST_SCALE = 2.0**-24
"""The smallest positive float16. Keras starts with a loss scale of 2^15 and halves it whenever a gradient overflows."""


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
    raise _diverged(found, run)


def require_validation(measured: Mapping[str, float], run: Run, step: int) -> None:
    """Ends a training whose validation loss is NaN or infinite: no checkpoint with such a best loss can be read.

    Weights that are finite and very large have such a loss.

    Args:
        measured: `loss` of the validation pairs, and other measures.
        run: the run in training.
        step: number of completed steps.

    Raises:
        TrainingError: the loss is NaN or infinite.
    """
    require_finite(f"step {step}: the validation loss is {measured['loss']}", run, measured["loss"])


def require_loss_scale(optimizer: keras.optimizers.Optimizer, run: Run, step: int) -> None:
    """Ends a float16 training whose gradients overflow at each step.

    The optimizer leaves out the update and halves the loss scale. The loss stays finite, and nothing is learned.

    Args:
        optimizer: a built optimizer; only `LossScaleOptimizer` has a scale.
        run: the run in training.
        step: number of completed steps.

    Raises:
        TrainingError: the loss scale is below `LEAST_SCALE`.
    """
    if not isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        return
    scale = float(keras.ops.convert_to_numpy(optimizer.dynamic_scale))
    if not scale >= LEAST_SCALE:  # it may be NaN
        raise _diverged(f"step {step}: gradients overflow float16 at each step (the loss scale is {scale:g})", run)


def _diverged(found: str, run: Run) -> TrainingError:
    return TrainingError(
        f"{found}, and training cannot recover from it; files saved before are in {run.directory}. Try a "
        f"smaller training.schedule.learning_rate (now {run.config.training.schedule.learning_rate:g}), a longer "
        "warm-up, or training.precision float32, under a new name"
    )
