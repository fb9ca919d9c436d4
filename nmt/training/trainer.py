"""The training loop: trains a run, validates it, keeps the best weights, and resumes after an interruption."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np

from nmt.backend.capabilities import batch_shapes
from nmt.backend.determinism import set_determinism
from nmt.backend.machine import configure_runtime
from nmt.backend.precision import decide_precision
from nmt.batches.arrays import Batch, GuidedBatch
from nmt.batches.pipeline import pass_batches
from nmt.config import RunConfig, TrainingConfig
from nmt.network.building import build_model
from nmt.network.losses.output_loss import slices_for
from nmt.network.model import Seq2Seq
from nmt.progress import StatusLine, counted
from nmt.run.directory import Run
from nmt.text.pieces import PAD
from nmt.training.averaging import averaged_arrays, weight_versions
from nmt.training.checkpoints import newest_checkpoint, save_checkpoint
from nmt.training.conclusion import concluding_lines
from nmt.training.console import (
    memory_lines,
    progress_line,
    raised_rate_line,
    validation_line,
)
from nmt.training.divergence import require_finite, require_loss_scale
from nmt.training.early_stopping import note_validation, out_of_patience
from nmt.training.errors import TrainingError
from nmt.training.fine_tuning import open_initial_run, transfer_weights
from nmt.training.history import History
from nmt.training.interruption import interruption
from nmt.training.live_view import LiveView, run_facts
from nmt.training.optimizer import Adam, averaging_interval
from nmt.training.pending_losses import PendingLosses
from nmt.training.preparation.claim import claimed
from nmt.training.preparation.prepare import Prepared, prepare
from nmt.training.schedule import ScheduleSpan, learning_rate, plateau_rate
from nmt.training.speed import Speed
from nmt.training.state import TrainingState
from nmt.training.step import TrainStep
from nmt.training.validation import Validation


@dataclass(frozen=True)
class TrainingResult:
    """Where a run is and how far it got."""

    directory: Path
    steps: int
    best: float | None
    """Best value of `training.metric` on the validation pairs."""
    finished: bool
    """False after an interruption: the same call resumes the run."""

    def _repr_html_(self) -> str:
        """The trained run as a notebook shows it."""
        return Run.open(self.directory)._repr_html_()


def train(config: RunConfig) -> TrainingResult:
    """Trains the run that `config` describes, or resumes it; reports progress on standard error.

    Ctrl-C or a termination signal ends the training after the current step, with a checkpoint.

    Raises:
        NmtError: a corpus, vocabulary or run directory that does not fit, or a loss that is NaN or infinite; the
            message says what to do.

    Example:
        >>> config = nmt.load_config("data/demo/config.yaml", ["--name", "small", "--training.passes", "1"])
        >>> nmt.train(config).finished
        True
    """
    configure_runtime()
    set_determinism(config.training.seed, config.training.deterministic)
    status = StatusLine()
    with claimed(Path(config.directory) / config.name):
        prepared = prepare(config, decide_precision(config.training.precision), status.print)
        return Trainer(prepared, status).run()


class Trainer:
    """A run in training: its batches, model, optimizer and state, restored from the newest checkpoint.

    Args:
        prepared: run, training pairs and validation pairs.
        status: shows progress.

    Raises:
        NmtError: a damaged checkpoint, or settings under which nothing would be learned.
    """

    def __init__(self, prepared: Prepared, status: StatusLine) -> None:
        self.prepared, self.status = prepared, status
        run, self.config = prepared.run, prepared.run.config.training
        self.guided = prepared.train.links is not None
        shapes = batch_shapes(self.config.shapes)
        self.plan = prepared.train.plan(self.config.batch_tokens, self.config.window, self.config.seed, shapes)
        self.steps_per_epoch, self.padding, cells = self.plan.figures()
        checkpoint = newest_checkpoint(run, status.print)
        if not checkpoint:
            require_updates(self.config, self.steps_per_epoch)
        self.state = checkpoint.state if checkpoint else TrainingState()
        planned = (self.state.schedule_passes or prepared.saved_passes) if checkpoint else 0
        self.schedule = ScheduleSpan(self.config.schedule, self.config.passes, planned, self.steps_per_epoch)
        self.state.schedule_passes = self.schedule.passes
        if not checkpoint:
            self.state.averaged_every = averaging_interval(self.schedule.steps // self.config.accumulate)
        self.model = self._build(self.config.precision)
        self.recomputed = self.model.limit_attention_memory(cells)
        self.optimizer = build_optimizer(self.model, self.config, self.schedule.steps, self.state.averaged_every)
        self.slices = slices_for(self.config.batch_tokens, run.target.size)
        self.train_step = TrainStep(self.model, self.optimizer, self.config.label_smoothing, self.slices)
        self.validation = Validation(run, self._build("float32"), prepared.validation)
        self.speed = Speed(self.config, self.steps_per_epoch)
        if checkpoint:
            checkpoint.restore(self._variables)
            # With more patience than before, the run continues.
            self.state.stopped_early &= out_of_patience(self.state, self.config.patience)
        self.has_initial_model = not checkpoint and bool(self.config.initial) and self._begin_with_another_run()
        self.losses = PendingLosses(run, self.state)
        self.history = History(run, self.state.step, self.guided, status.print)
        facts = run_facts(prepared, self.model.count_params())
        self.live_view = LiveView(run, self.state.step, facts, status.print) if self.config.live_view else None

    def _build(self, precision: str) -> Seq2Seq:
        run = self.prepared.run
        return build_model(run.config.model, run.source.size, run.target.size, self.config.seed, precision)

    def _begin_with_another_run(self) -> bool:
        """Takes the weights of the run that `training.initial` names; whether they are its whole model."""
        run = self.prepared.run
        initial = open_initial_run(run.config)
        shared = transfer_weights(self.model, run, initial)
        self.status.print(
            f"training begins with the weights of {initial.directory}, which has {shared.source} of {run.source.size} "
            f"source pieces and {shared.target} of {run.target.size} target pieces"
        )
        return shared == (run.source.size, run.target.size)

    @property
    def _variables(self) -> list[keras.Variable]:
        """All that a checkpoint saves: weights, seeds of dropout, moments and averages."""
        return [*self.model.variables, *self.optimizer.variables]

    @property
    def _done(self) -> bool:
        return self.state.stopped_early or self.state.pass_index >= self.config.passes

    def run(self) -> TrainingResult:
        """Trains to the end or to an interruption."""
        self._introduce()
        if self.has_initial_model and not self._done:
            self._measure_initial()
        if self._done and (self.state.batches or self.state.best is None):
            self._validate()  # interrupted, then resumed with fewer epochs
        with interruption() as interrupted:
            while not self._done:
                self._train_epoch(interrupted)
                if interrupted.is_set() and not self._done:
                    self._save()
                    self.status.print(
                        f"interrupted; step {self.state.step} is saved in {self.prepared.run.directory}, "
                        "the same command resumes the training"
                    )
                    break
        if self._done:
            for line in concluding_lines(self.prepared, self.state):
                self.status.print(line)
        return TrainingResult(self.prepared.run.directory, self.state.step, self.state.best, self._done)

    def _introduce(self) -> None:
        run, prepared, say = self.prepared.run, self.prepared, self.status.print
        say(
            f"{len(prepared.train)} training pairs, {len(prepared.validation)} validation pairs, "
            f"{self.model.count_params():,} parameters, {self.config.precision}"
        )
        if self._done:
            return
        resumes = f"resuming from step {self.state.step}; " if self.state.step else ""
        say(
            f"{resumes}about {counted(self.steps_per_epoch, 'batch')} per epoch, {100 * self.padding:.1f} % padding; "
            f"run directory {run.directory}"
        )
        if rates := self.schedule.raised_rate(self.state.step, self.state.halvings):
            say(raised_rate_line(self.state.step, *rates, self.schedule.planned, self.schedule.passes))
        for line in memory_lines(self.slices, self.config.batch_tokens, run.target.size, self.recomputed):
            say(line)

    def _train_epoch(self, interrupted: threading.Event) -> None:
        """Trains the rest of the current epoch, or until an interruption or early stopping."""
        state, every = self.state, self.config.checkpoints.every
        started = time.perf_counter()
        for batch in pass_batches(self.prepared.train, self.plan, state.pass_index, state.batch, state.begin):
            self._step(batch)
            state.seconds += time.perf_counter() - started
            self.speed.note(state)
            self.status.show(self._line, state.step % self.config.log_every == 0)
            if self.config.validate_every and state.step % self.config.validate_every == 0:
                self._validate()
            elif every and state.step % every == 0:
                self._save()
            if interrupted.is_set() or state.stopped_early:
                return
            started = time.perf_counter()
        self._settle()
        state.pass_index, state.batch, state.section, state.section_batch = state.pass_index + 1, 0, 0, 0
        last = state.pass_index == self.config.passes
        if (last and state.batches) or not self.config.validate_every:
            self._validate()
        elif last:  # the last step has been validated already
            self._save()
            self._show()

    def _step(self, batch: Batch | GuidedBatch) -> None:
        """Updates the weights once."""
        state, config = self.state, self.config
        if config.schedule.decay == "plateau":
            rate = plateau_rate(config.schedule, self.schedule.steps, state.step, state.halvings)
            self.optimizer.learning_rate.assign(rate)
        if isinstance(batch, GuidedBatch):
            weight = config.guided.weight * config.guided.decay**state.pass_index
            losses: tuple[Any, ...] = self.train_step.guided(batch, weight)
        else:
            losses = (self.train_step(batch),)
        state.step, state.batch = state.step + 1, state.batch + 1
        self.losses.put(state.step, *losses)
        state.tokens += int(np.count_nonzero(np.asarray(batch.target_out) != PAD))

    def _settle(self) -> None:
        """Waits for the losses of the newest step; the time counts as training."""
        started = time.perf_counter()
        self.losses.settle()
        require_loss_scale(self.optimizer, self.prepared.run, self.state.step)
        self.state.seconds += time.perf_counter() - started

    def _line(self) -> str:
        self._settle()
        return progress_line(self.state, self.speed, self.guided)

    def _validate(self) -> None:
        """Measures the averaged weights, keeps them if they are the best, and saves a checkpoint."""
        self._settle()
        state, run, started = self.state, self.prepared.run, time.perf_counter()
        weights = averaged_arrays(self.model, self.optimizer)
        require_finite(f"step {state.step}: weights are NaN or infinite", run, *weights.values())
        measured = self.validation.measure(weights)
        better = note_validation(measured, state, self.config, self._changed_since(state.validated_step))
        if better:
            run.save_weights(weights)
        mark = "kept" if self.config.metric == "last" else "best"  # `last` compares no values
        row = self.history.add(state, measured, float(self.optimizer.learning_rate))
        state.reset_losses()
        self._save()
        self.status.print(validation_line(state.step, measured, mark if better else ""))
        self.history.add_events(row, self.validation.alignment_image())
        self._show()
        self.speed.validation_seconds = time.perf_counter() - started

    def _measure_initial(self) -> None:
        """Measures the weights of the initial run, which stay the best until training improves them."""
        weights = averaged_arrays(self.model, self.optimizer)
        measured = self.validation.measure(weights)
        note_validation(measured, self.state, self.config)
        self.prepared.run.save_weights(weights)
        self.status.print(validation_line(0, measured, "best"))

    def _changed_since(self, step: int) -> bool:
        """Whether the averaged weights have changed since a step."""
        every = self.state.averaged_every
        versions = [weight_versions(each, self.config, every) for each in (step, self.state.step)]
        return versions[0] != versions[1]

    def _show(self) -> None:
        if self.live_view:
            self.live_view.show(self.history.rows, self.state, self.validation.samples, self._done)

    def _save(self) -> None:
        self._settle()
        self.state.section, self.state.section_batch = self.plan.section_of(self.state.batch)
        save_checkpoint(self.prepared.run, self._variables, self.state)


def require_updates(config: TrainingConfig, steps_per_epoch: int) -> None:
    """Refuses an accumulation over more batches than there are."""
    batches = config.passes * steps_per_epoch
    if config.accumulate > batches:
        raise TrainingError(
            f"training.accumulate is {config.accumulate}, but all epochs together have about "
            f"{counted(batches, 'batch')}, so the weights would never be updated: choose a smaller "
            "training.accumulate under another name, or more training.passes"
        )


def build_optimizer(
    model: Seq2Seq, config: TrainingConfig, total_steps: int, averaged_every: int
) -> keras.optimizers.Optimizer:
    """Adam with the configured schedule, clipping, accumulation and moving average; scales the loss for float16."""
    optimizer: keras.optimizers.Optimizer = Adam(
        learning_rate(config.schedule, total_steps),
        global_clipnorm=config.clip_norm or None,
        gradient_accumulation_steps=config.accumulate if config.accumulate > 1 else None,
        averaged_every=averaged_every,
        use_ema=config.ema > 0,
        ema_momentum=config.ema or 0.99,
    )
    if config.precision == "mixed_float16":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    optimizer.build(model.trainable_variables)
    return optimizer
