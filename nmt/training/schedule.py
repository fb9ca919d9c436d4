"""The learning rate after each step."""

from __future__ import annotations

from typing import Any

import keras

from nmt.config import ScheduleConfig


def learning_rate(config: ScheduleConfig, total_steps: int) -> keras.optimizers.schedules.LearningRateSchedule | float:
    """The schedule for Keras: linear warm-up, then the configured decay.

    For decay `plateau` this is the highest rate alone, because validations decide the rest: see `plateau_rate`.

    Args:
        total_steps: steps that the schedule spans.
    """
    peak, warmup = config.learning_rate, warmup_steps(config, total_steps)
    if config.decay == "cosine":
        return keras.optimizers.schedules.CosineDecay(
            0.0 if warmup else peak,
            max(total_steps - warmup, 1),
            alpha=config.final_share,
            warmup_target=peak if warmup else None,
            warmup_steps=warmup,
        )
    return peak if config.decay == "plateau" else WarmUp(peak, warmup, config.decay == "inverse_sqrt")


def warmup_steps(config: ScheduleConfig, total_steps: int) -> int:
    """Steps of the warm-up: the configured number, but at most a fifth of all steps."""
    return min(config.warmup_steps, total_steps // 5)


def plateau_rate(config: ScheduleConfig, total_steps: int, step: int, halvings: int) -> float:
    """The rate of decay `plateau` after `step` steps: linear warm-up, then halved `halvings` times."""
    warmup = warmup_steps(config, total_steps)
    return config.learning_rate * min((step + 1) / max(warmup, 1), 1.0) * 0.5**halvings


def rate_at(config: ScheduleConfig, total_steps: int, step: int, halvings: int = 0) -> float:
    """The rate of any decay after `step` steps; `halvings` as in `plateau_rate`."""
    if config.decay == "plateau":
        return plateau_rate(config, total_steps, step, halvings)
    schedule: Any = learning_rate(config, total_steps)
    return float(schedule(step))


class ScheduleSpan:
    """The epochs that a run's schedule spans, which `training.passes` may change when the run is resumed.

    Args:
        config: `more_passes` decides whether the schedule stays as planned.
        passes: `training.passes`.
        planned: epochs that the schedule spanned before the run was resumed; 0 for a new run.
        steps_per_epoch: batches of an epoch.
    """

    def __init__(self, config: ScheduleConfig, passes: int, planned: int, steps_per_epoch: int) -> None:
        self._config, self.planned, self._steps_per_epoch = config, planned, steps_per_epoch
        keeps_plan = config.more_passes == "final_rate" and 0 < planned < passes
        self.passes = planned if keeps_plan else passes
        self.steps = self.passes * steps_per_epoch

    def raised_rate(self, step: int, halvings: int) -> tuple[float, float] | None:
        """The rates after `step` steps before and now, where more epochs than planned raise the rate; else None."""
        if not 0 < self.planned < self.passes:
            return None
        before = rate_at(self._config, self.planned * self._steps_per_epoch, step, halvings)
        now = rate_at(self._config, self.steps, step, halvings)
        return (before, now) if now > before else None


@keras.saving.register_keras_serializable("nmt")
class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up to `peak`, then constant or falling as 1/sqrt(step) (Vaswani et al. 2017, eq. 3)."""

    def __init__(self, peak: float, warmup_steps: int, inverse_sqrt: bool) -> None:
        self.peak, self.warmup_steps, self.inverse_sqrt = peak, warmup_steps, inverse_sqrt

    def __call__(self, step: Any) -> Any:
        step = keras.ops.cast(step, "float32") + 1.0
        warmup = float(max(self.warmup_steps, 1))
        rising = keras.ops.minimum(step / warmup, 1.0)
        falling = keras.ops.sqrt(warmup / keras.ops.maximum(step, warmup)) if self.inverse_sqrt else 1.0
        return self.peak * rising * falling

    def get_config(self) -> dict[str, object]:
        return {"peak": self.peak, "warmup_steps": self.warmup_steps, "inverse_sqrt": self.inverse_sqrt}
