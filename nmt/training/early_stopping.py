"""Which validation is the best, when the learning rate halves on a plateau, and when training stops early.

Only numbers come in here: no model, no files.
"""

from __future__ import annotations

from collections.abc import Mapping

from nmt.config import TrainingConfig
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
    """Whether the measured weights beat the best ones before.

    Where BLEU or chrF is equal to the hundredth, the loss decides: BLEU stays near 0 until the model has learned
    phrases.
    """
    best, best_loss = state.best, state.best_loss
    if metric == "last":
        return True
    if best is None or metric == "loss":
        return best is None or measured["loss"] < best
    gained = round(measured[metric], 2) - round(best, 2)
    return gained > 0 or (gained == 0 and best_loss is not None and measured["loss"] < best_loss)


def out_of_patience(state: TrainingState, patience: int) -> bool:
    """Whether `patience` validations in a row were no better; a patience of 0 never ends."""
    return bool(patience) and state.stale >= patience
