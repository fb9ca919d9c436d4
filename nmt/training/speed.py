"""Training speed, and the time that is left."""

from __future__ import annotations

import collections

from nmt.config import TrainingConfig
from nmt.progress import duration
from nmt.training.state import TrainingState

RECENT_STEPS = 100
"""Steps that the speed is measured over.

The first step compiles, the machine may have slept, and a run may move to another machine, so older steps do not count.
"""


class Speed:
    """Speed over the last steps of this session, and an estimate of the time left.

    Args:
        config: decides how many steps and validations are still to come.
        steps_per_epoch: batches of an epoch.
        state: at the begin of this session.
    """

    def __init__(self, config: TrainingConfig, steps_per_epoch: int, state: TrainingState) -> None:
        self.config, self.steps_per_epoch = config, steps_per_epoch
        self._begun = state.seconds, state.tokens
        self.validation_seconds = 0.0
        """Duration of the last validation; 0 before the first one."""
        self._recent: collections.deque[tuple[int, int, float]] = collections.deque(maxlen=RECENT_STEPS + 1)

    @property
    def total_steps(self) -> int:
        """Steps of all epochs; each epoch's number of batches differs a little from the first one's."""
        return self.config.passes * self.steps_per_epoch

    def note(self, state: TrainingState) -> None:
        """Notes the end of a step. The first one of this session compiles, which the state counts apart."""
        if not self._recent:
            seconds, tokens = self._begun
            state.compiling_seconds += state.seconds - seconds
            state.compiling_tokens += state.tokens - tokens
        self._recent.append((state.step, state.tokens, state.seconds))

    def text(self, step: int) -> str:
        """Speed and time left, such as `2,100 tokens/s  3:05 left`; `compiled` after the first step."""
        steps, tokens, seconds = (last - first for last, first in zip(self._recent[-1], self._recent[0], strict=True))
        if not steps:
            return "compiled"
        training = seconds / steps * max(self.total_steps - step, 0)
        validating = self.validation_seconds * self._validations_left(step)
        return f"{tokens / max(seconds, 1e-9):,.0f} tokens/s  {duration(training + validating)} left"

    def _validations_left(self, step: int) -> int:
        every = self.config.validate_every or self.steps_per_epoch
        return max(-(-self.total_steps // every) - step // every, 0)
