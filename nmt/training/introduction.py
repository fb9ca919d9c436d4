"""The lines at the beginning of a training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nmt.progress import counted
from nmt.training.console import memory_lines, raised_rate_line

if TYPE_CHECKING:
    from nmt.training.trainer import Trainer


def introductory_lines(trainer: Trainer) -> Iterator[str]:
    """Lines on the pairs, the model, the replicas and the plan of a trainer that is about to begin."""
    prepared, state, config, schedule = trainer.prepared, trainer.state, trainer.config, trainer.schedule
    yield (
        f"{len(prepared.train):,} training pairs, {len(prepared.validation):,} validation pairs, "
        f"{trainer.model.count_params():,} parameters, {config.precision}"
    )
    if trainer.done:
        return
    resumes = f"resuming from step {state.step}; " if state.step else ""
    yield (
        f"{resumes}about {counted(trainer.steps_per_epoch, 'batch')} per epoch, {100 * trainer.padding:.1f} % padding; "
        f"run directory {prepared.run.directory}"
    )
    if trainer.replicas.count > 1:
        workers = len(trainer.replicas.cluster.addresses)
        yield f"{counted(workers, 'worker')} with {counted(trainer.replicas.local, 'device')} each share every batch"
    if rates := schedule.raised_rate(state.step, state.halvings):
        yield raised_rate_line(state.step, *rates, schedule.planned, schedule.passes)
    yield "the first step takes longest, because it compiles the network"
    yield from memory_lines(trainer.slices, config.batch_tokens, prepared.run.target.size, trainer.recomputed)
