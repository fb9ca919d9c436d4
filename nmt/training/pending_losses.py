"""Losses of the newest step, read one step late."""

from __future__ import annotations

from typing import Any

import numpy as np

from nmt.run.directory import Run
from nmt.training.divergence import require_finite
from nmt.training.state import TrainingState


class PendingLosses:
    """The losses of the newest step, which the device may still be computing.

    JAX and GPUs compute while Python goes on. The trainer starts the next step before it reads these losses, so the
    device does not wait for the next batch.

    Args:
        run: the run in training, for messages.
        state: its sums take the losses.
    """

    def __init__(self, run: Run, state: TrainingState) -> None:
        self._run, self._state = run, state
        self._step = 0
        self._losses: tuple[Any, ...] = ()
        self._counts: Any = None
        self.stop_wanted = False
        """Whether some worker wanted to stop at a settled step."""

    def put(self, step: int, *losses: Any, counts: Any = None) -> None:
        """Takes the losses of a step, scalars of the backend or numbers, and settles the losses of the step before.

        Args:
            counts: `Replicas.counts` of the step; its target tokens are added to the state.
        """
        self.settle()
        self._step, self._losses, self._counts = step, losses, counts

    def settle(self) -> None:
        """Waits for the losses and adds them to the state.

        Raises:
            TrainingError: a loss is NaN or infinite.
        """
        if not self._losses:
            return
        losses = [float(loss) for loss in self._losses]
        self._losses = ()
        for name, loss in zip(("loss", "attention loss"), losses, strict=False):
            require_finite(f"step {self._step}: the {name} is {loss}", self._run, loss)
        self._state.add_losses(*losses)
        if self._counts is not None:
            tokens, _, wishes = map(float, np.asarray(self._counts))
            self._state.tokens += int(tokens)
            self.stop_wanted |= wishes > 0
