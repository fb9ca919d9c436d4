"""The state of a training: how far it is and how well it does."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields

from nmt.batches.plan import Section

STATE = "place"
"""Name of the training state among the arrays of a checkpoint, as the first releases wrote it."""


@dataclass
class TrainingState:
    """Counters and best values of a run; every checkpoint holds them as JSON, under these names."""

    pass_index: int = 0
    """Complete epochs."""
    batch: int = 0
    """Batches of the current epoch that the model has been trained on."""
    section: int = 0
    """Section of the epoch with the next batch; 0 where an epoch is one section."""
    section_batch: int = 0
    """Batches of the current epoch before this section."""
    step: int = 0
    """Batches of all epochs that the model has been trained on."""
    best: float | None = None
    """Best value of `training.metric`; None before the first validation."""
    best_loss: float | None = None
    """Validation loss of the best weights."""
    stale: int = 0
    """Validations of changed weights since the best one."""
    halvings: int = 0
    """Times that a plateau has halved the learning rate."""
    losses: float = 0.0
    """Sum of the batches' losses since the last validation."""
    batches: int = 0
    """Batches since the last validation."""
    guided: float = 0.0
    """Sum of the batches' attention losses since the last validation, where attention is guided."""
    seconds: float = 0.0
    """Time spent in training steps, all sessions together."""
    tokens: int = 0
    """Target tokens trained on, all sessions together."""
    compiling_seconds: float = 0.0
    """Part of `seconds` of the first step of each session, which compiles."""
    compiling_tokens: int = 0
    """Part of `tokens` of these steps."""
    shapes: int = -1
    """Number of shapes by which the batches of an epoch are planned; -1: older checkpoints do not say it."""
    stopped_early: bool = False
    """Whether `training.patience` has ended the training."""

    schedule_passes: int = 0
    """Epochs that the learning rate's schedule spans; 0 in checkpoints of version 0.1."""
    averaged_every: int = 8
    """Updates between two steps of the moving average; 8 in version 0.1, whose checkpoints do not say it."""
    validated_step: int = 0
    """Step of the last validation."""
    best_step: int = -1
    """Step of the best validation; -1 before it, and in checkpoints of version 0.1."""

    @classmethod
    def from_json(cls, text: str) -> TrainingState:
        """The state that a checkpoint holds.

        Raises:
            ValueError, TypeError, RecursionError: the text is not JSON, or has fields of another version or values of
                other types.
        """
        state = cls(**json.loads(text))
        for field in fields(state):
            value = getattr(state, field.name)
            begins = type(value) is type(field.default) and value == field.default  # -1 for no step yet
            if not begins and not _fits(value, field.type):
                raise ValueError(f"{field.name} has a value of another type")
        if not state.averaged_every:
            raise ValueError("averaged_every is 0")
        return state

    @property
    def begin(self) -> Section:
        """The section of the epoch with the next batch."""
        return Section(self.section, self.section_batch)

    def add_losses(self, loss: float, attention: float = 0.0) -> None:
        """Adds the losses of one batch to the sums since the last validation."""
        self.losses, self.guided, self.batches = self.losses + loss, self.guided + attention, self.batches + 1

    def reset_losses(self) -> None:
        """Begins new sums, after a validation."""
        self.losses, self.guided, self.batches = 0.0, 0.0, 0


def _fits(value: object, kind: object) -> bool:
    """Whether a value of a training state has the type of its field and can be computed with."""
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "int":
        return type(value) is int and 0 <= value < 2**63
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return number or (value is None and "None" in str(kind))


def note_shapes(state: TrainingState, shapes: int, say: Callable[[str], None]) -> None:
    """Notes by how many shapes the batches are planned; warns if an epoch has begun with another plan."""
    if state.shapes not in (-1, shapes) and (state.batch or state.section):
        say(
            "the batches of this epoch are planned in another way than before, because the Keras backend or "
            "training.shapes changed: some pairs are read twice in this epoch, and others not"
        )
    state.shapes = shapes
