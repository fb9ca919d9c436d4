"""Which validation is the best, when the learning rate halves on a plateau, and when training stops early.

Only numbers come in here: no model, no files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from nmt.config import TrainingConfig
from nmt.run.history import validation_quality
from nmt.training.state import TrainingState


def note_validation(
    measured: Mapping[str, float], state: TrainingState, config: TrainingConfig, changed: bool = True
) -> bool:
    """Updates the best values, the plateau's halvings and the decision to stop.

    Args:
        measured: `loss`, `bleu` and `chrf` of the validation pairs.
        state: changed in place.
        changed: whether the measured weights have changed since the last validation. Equal weights are no sign that
            training has stopped to learn.

    Returns:
        Whether the measured weights are the best.
    """
    better = is_better(measured, state, config.metric)
    if better:
        value = measured[measure_of(config.metric)]
        state.best, state.best_loss, state.best_step, state.stale = value, measured["loss"], state.step, 0
    elif changed:
        state.stale += 1
        state.halvings += state.stale % config.schedule.plateau == 0
    state.validated_step = state.step
    state.stopped_early = out_of_patience(state, config.patience)
    return better


def measure_of(metric: str) -> str:
    """The measure whose value `training.metric` keeps; for `last`, which compares none, BLEU."""
    return "bleu" if metric == "last" else metric


def is_better(measured: Mapping[str, float], state: TrainingState, metric: str) -> bool:
    """Whether the measured weights beat the best ones before, see `validation_quality`."""
    if metric == "last" or state.best is None:
        return True
    best_loss = state.best if metric == "loss" else -math.inf if state.best_loss is None else state.best_loss
    best = validation_quality(metric, state.best, best_loss)
    return validation_quality(metric, measured[metric], measured["loss"]) > best


def out_of_patience(state: TrainingState, patience: int) -> bool:
    """Whether `patience` validations in a row were no better; a patience of 0 never ends."""
    return bool(patience) and state.stale >= patience
