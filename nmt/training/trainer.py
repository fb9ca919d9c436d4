"""The training loop: trains a run, validates it, keeps the best weights, and resumes after an interruption."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras.ops import convert_to_numpy

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
from nmt.progress import StatusLine, counted, report
from nmt.run.directory import Run
from nmt.text.pieces import PAD
from nmt.training.averaging import averaged_arrays, weights_have_changed
from nmt.training.checkpoints import newest_checkpoint, save_checkpoint
from nmt.training.conclusion import concluding_lines, interruption_line
from nmt.training.console import progress_line, validation_line
from nmt.training.distribution.cluster import read_cluster
from nmt.training.distribution.replicas import Replicas, open_replicas
from nmt.training.distribution.same_training import require_same_training
from nmt.training.divergence import require_finite, require_loss_scale, require_validation
from nmt.training.early_stopping import note_validation, out_of_patience
from nmt.training.errors import TrainingError
from nmt.training.fine_tuning import begin_with_initial_run
from nmt.training.history import History
from nmt.training.interruption import interruption
from nmt.training.introduction import introductory_lines
from nmt.training.live_view import LiveView, Stage, run_facts
from nmt.training.optimizer import Adam, LossScaleOptimizer, averaging_interval
from nmt.training.pending_losses import PendingLosses
from nmt.training.preparation.claim import claimed
from nmt.training.preparation.prepare import Prepared, follow, prepare
from nmt.training.schedule import ScheduleSpan, learning_rate, plateau_rate
from nmt.training.speed import Speed
from nmt.training.state import TrainingState, note_shapes
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

    If the environment variable TF_CONFIG names several workers, each of them calls this function with the same
    configuration. The first one prepares the text, reports and writes the run directory, which all of them read.

    Raises:
        NmtError: a corpus, vocabulary or run directory that does not fit, a loss that is NaN or infinite, or another
            worker that is lost; the message says what to do.

    Example:
        >>> config = nmt.load_config("data/demo/config.yaml", ["--name", "small", "--training.passes", "1"])
        >>> nmt.train(config).finished
        True
    """
    replicas = open_replicas(config.training.devices, read_cluster())
    configure_runtime()
    set_determinism(config.training.seed, config.training.deterministic)
    with replicas.watched():
        return _lead(config, replicas) if replicas.is_chief else _follow(config, replicas)


def _lead(config: RunConfig, replicas: Replicas) -> TrainingResult:
    """Trains as the only worker, or as the chief of several."""
    status = StatusLine()
    with claimed(Path(config.directory) / config.name):
        with replicas.chief_first():
            prepared = prepare(config, decide_precision(config.training.precision), status.print)
        result = Trainer(prepared, status, replicas).run()
    replicas.agree(0)  # no worker ends while another one still needs it
    return result


def _follow(config: RunConfig, replicas: Replicas) -> TrainingResult:
    """Trains as another worker than the chief. It prints nothing more, and writes nothing."""
    report(f"{replicas.cluster} has started; worker 0 prepares the text and reports the progress")
    with open(os.devnull, "w") as nowhere:
        with replicas.chief_first():
            prepared = follow(config)
        result = Trainer(prepared, StatusLine(nowhere), replicas).run()
    replicas.agree(0)
    return result


class Trainer:
    """A run in training: its batches, model, optimizer and state, restored from the newest checkpoint.

    Args:
        prepared: run, training pairs and validation pairs.
        status: shows progress.
        replicas: copies of the model that share each batch; None: one.

    Raises:
        NmtError: a damaged checkpoint, or settings under which nothing would be learned.
    """

    def __init__(self, prepared: Prepared, status: StatusLine, replicas: Replicas | None = None) -> None:
        self.prepared, self.status, self.replicas = prepared, status, replicas or Replicas()
        run, self.config = prepared.run, prepared.run.config.training
        self.guided = prepared.train.links is not None
        shapes = batch_shapes(self.config.shapes)
        self.plan = prepared.train.plan(self.config.batch_tokens, self.config.window, self.config.seed, shapes)
        figures = self.steps_per_epoch, self.padding, cells = self.plan.figures()
        with self.replicas.chief_first():  # it may rename damaged checkpoints
            checkpoint = newest_checkpoint(run, status.print)
        if not checkpoint:
            require_updates(self.config, self.steps_per_epoch)
        self.state = checkpoint.state if checkpoint else TrainingState()
        planned = (self.state.schedule_passes or prepared.saved_passes) if checkpoint else 0
        self.schedule = ScheduleSpan(self.config.schedule, self.config.passes, planned, self.steps_per_epoch)
        self.state.schedule_passes = self.schedule.passes
        note_shapes(self.state, shapes, status.print)
        if not checkpoint:
            self.state.averaged_every = averaging_interval(self.schedule.steps // self.config.accumulate)
        require_same_training(self.replicas, run.config, figures, self.state.step)
        with self.replicas.scope():
            self.model = self._build(self.config.precision)
            self.optimizer = build_optimizer(
                self.model, self.config, self.schedule.steps, self.state.averaged_every, self.replicas.count > 1
            )
        self.recomputed = self.model.limit_attention_memory(-(-cells // self.replicas.count))
        self.slices = slices_for(self.config.batch_tokens, run.target.size)
        self.train_step = TrainStep(self.model, self.optimizer, self.config.label_smoothing, self.slices, self.replicas)
        if self.replicas.is_chief:
            self.validation = Validation(run, self._build("float32"), prepared.validation)
        self.speed = Speed(self.config, self.steps_per_epoch, self.state)
        if checkpoint:
            checkpoint.restore(self._variables)
            # With more patience than before, the run continues.
            self.state.stopped_early &= out_of_patience(self.state, self.config.patience)
        begins = not checkpoint and bool(self.config.initial)
        self.has_initial_model = begins and begin_with_initial_run(self.model, run, status.print)
        self.losses = PendingLosses(run, self.state)
        if self.replicas.is_chief:
            self.history = History(run, self.state.step, self.guided, self.steps_per_epoch, status.print)
            facts = run_facts(prepared, self.model.count_params())
            self.live_view = LiveView(run, self.state.step, facts, status.print) if self.config.live_view else None

    def _build(self, precision: str) -> Seq2Seq:
        run = self.prepared.run
        return build_model(run.config.model, run.source.size, run.target.size, self.config.seed, precision)

    @property
    def _variables(self) -> list[keras.Variable]:
        """All that a checkpoint saves: weights, seeds of dropout, moments and averages."""
        return [*self.model.variables, *self.optimizer.variables]

    @property
    def done(self) -> bool:
        return self.state.stopped_early or self.state.pass_index >= self.config.passes

    def run(self) -> TrainingResult:
        """Trains to the end or to an interruption."""
        for line in introductory_lines(self):
            self.status.print(line)
        if self.state.step and not self.done:
            self._show(translates=False)  # no longer as interrupted
        if self.has_initial_model and not self.done and self.replicas.is_chief:
            self._measure_initial()
        if self.done and (self.state.batches or self.state.best is None):
            self._validate()  # interrupted, then resumed with fewer epochs
        with interruption() as interrupted:
            while not self.done:
                self._train_epoch(interrupted)
                if self._stops(interrupted, self.losses.stop_wanted) and not self.done:
                    self._save()
                    self._show("interrupted", translates=False)
                    self.status.print(interruption_line(self.prepared, self.state))
                    break
        for line in concluding_lines(self.prepared, self.state) if self.done and self.replicas.is_chief else ():
            self.status.print(line)
        return TrainingResult(self.prepared.run.directory, self.state.step, self.state.best, self.done)

    def _train_epoch(self, interrupted: threading.Event) -> None:
        """Trains the rest of the current epoch, or until an interruption or early stopping."""
        state, every = self.state, self.config.checkpoints.every
        started = time.perf_counter()
        place = state.pass_index, state.batch, state.begin
        for batch in pass_batches(self.prepared.train, self.plan, *place, self.replicas.rows):
            self.replicas.wants_stop = interrupted.is_set()
            self._step(batch)
            agreed = self.losses.stop_wanted
            state.seconds += time.perf_counter() - started
            self.speed.note(state)
            self.status.show(self._line, state.step % self.config.log_every == 0)
            if self.config.validate_every and state.step % self.config.validate_every == 0:
                self._validate()
            elif every and state.step % every == 0:
                self._save()
            if self._stops(interrupted, agreed) or state.stopped_early:
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

    def _stops(self, interrupted: threading.Event, agreed: bool) -> bool:
        """Whether an interruption ends the training here. Several workers end after the step that they agreed on."""
        return agreed if self.replicas.cluster.several else interrupted.is_set()

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
        self.losses.put(state.step, *losses, counts=self.replicas.counts)
        if self.replicas.counts is None:
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
        state = self.state
        if self.replicas.is_chief:
            self._measure()
        else:
            state.reset_losses()
        stopped_early, state.halvings = self.replicas.agree(int(state.stopped_early), state.halvings)
        state.stopped_early = bool(stopped_early)

    def _measure(self) -> None:
        state, run, started = self.state, self.prepared.run, time.perf_counter()
        weights = averaged_arrays(self.model, self.optimizer)
        require_finite(f"step {state.step}: weights are NaN or infinite", run, *weights.values())
        require_validation(measured := self.validation.measure(weights), run, state.step)
        better = note_validation(measured, state, self.config, weights_have_changed(state, self.config))
        if better:
            run.save_weights(weights)
        mark = "saved" if self.config.metric == "last" else "best"  # `last` compares no values
        row = self.history.add(state, measured, float(convert_to_numpy(self.optimizer.learning_rate)))
        state.reset_losses()
        self._save()
        self.status.print(validation_line(state.step, measured, mark if better else ""))
        self.history.add_events(row, self.validation.alignment_image())
        self._show()
        self.speed.validation_seconds = time.perf_counter() - started

    def _measure_initial(self) -> None:
        """Measures the weights of the initial run, which stay the best until training improves them."""
        weights = averaged_arrays(self.model, self.optimizer)
        require_validation(measured := self.validation.measure(weights), self.prepared.run, 0)
        note_validation(measured, self.state, self.config)
        self.history.add(self.state, measured, float(convert_to_numpy(self.optimizer.learning_rate)))
        self.prepared.run.save_weights(weights)
        self.status.print(validation_line(0, measured, "best"))

    def _show(self, stage: Stage = "training", translates: bool = True) -> None:
        """Draws the training, and some translations of its weights."""
        if self.replicas.is_chief and self.live_view:
            samples = self.validation.samples if translates else tuple
            self.live_view.show(self.history.rows, self.state, samples, "ended" if self.done else stage)

    def _save(self) -> None:
        self._settle()
        if self.replicas.is_chief:
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
    model: Seq2Seq, config: TrainingConfig, total_steps: int, averaged_every: int, summed: bool = False
) -> keras.optimizers.Optimizer:
    """Adam with the configured schedule, decay, clipping and moving average; scales the loss for float16.

    Args:
        model: built model.
        config: rate, decay, clipping, accumulation, moving average and precision.
        total_steps: steps of the schedule.
        averaged_every, summed: as in `Adam`.
    """
    optimizer: keras.optimizers.Optimizer = Adam(
        learning_rate(config.schedule, total_steps),
        weight_decay=config.weight_decay or None,
        global_clipnorm=config.clip_norm or None,
        gradient_accumulation_steps=config.accumulate if config.accumulate > 1 else None,
        averaged_every=averaged_every,
        summed=summed,
        use_ema=config.ema > 0,
        ema_momentum=config.ema or 0.99,
    )
    if config.precision == "mixed_float16":
        optimizer = LossScaleOptimizer(optimizer)
    optimizer.build(model.trainable_variables)
    return optimizer
