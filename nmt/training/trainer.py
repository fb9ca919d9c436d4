"""From a configuration to a trained run: fit, validate, keep the best, go on where an earlier call stopped."""

from __future__ import annotations

import collections
import contextlib
import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import keras
import numpy as np

from nmt.alignment.pharaoh_and_naacl import parse_pharaoh
from nmt.backend.compiling import batch_shapes, set_determinism
from nmt.backend.machine import configure_runtime, peak_memory
from nmt.backend.precision import decide_precision
from nmt.batches.arrays import Batch, GuidedBatch
from nmt.batches.pipeline import pass_batches
from nmt.config import RunConfig
from nmt.drawing import drawable, heatmap
from nmt.errors import NmtError
from nmt.evaluation.alignment_error_rate import alignment_score
from nmt.evaluation.bleu_and_chrf import bleu
from nmt.network.losses import slices_for
from nmt.network.model import Seq2Seq
from nmt.network.weights import assign_arrays, variables_to_arrays
from nmt.progress import StatusLine, duration
from nmt.run.arrays import load_arrays, save_arrays
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.text.pieces import PAD
from nmt.training.averaging import averaged_arrays
from nmt.training.optimizer import Adam
from nmt.training.preparation.prepare import Prepared, claimed, prepare
from nmt.training.schedule import learning_rate, warmup_steps
from nmt.training.step import TrainStep
from nmt.training.tensorboard import EventWriter
from nmt.training.transfer import carry_over, open_origin
from nmt.translation.translator import Translator

RECENT = 100
"""Steps whose speed is told."""


class TrainingError(NmtError):
    """A training that cannot go on; the message says what to do."""


@dataclass
class Place:
    """How far a run is; part of every checkpoint."""

    pass_index: int = 0
    batch: int = 0
    """Batches of this pass that have been trained on."""
    step: int = 0
    best: float | None = None
    """Best value of the metric so far."""
    best_loss: float | None = None
    """The validation's loss that found it."""
    stale: int = 0
    """Validations since."""
    halvings: int = 0
    """Of the learning rate, where it falls by what validations find."""
    losses: float = 0.0
    """Sum of the batch losses since the last validation, and their number."""
    batches: int = 0
    guided: float = 0.0
    """Sum of the attention's losses, where it is guided, since the last validation."""
    seconds: float = 0.0
    """Time spent in training steps, all calls together."""
    tokens: int = 0
    """Target tokens trained on, all calls together."""
    stopped_early: bool = False


@dataclass(frozen=True)
class TrainingResult:
    """Where a run is and how far it got."""

    directory: Path
    steps: int
    best: float | None
    """Best value of `training.metric` on the validation set."""
    finished: bool
    """False after an interruption: the same call goes on."""


def train(config: RunConfig) -> TrainingResult:
    """Trains the run that `config` describes, or goes on with it; says on standard error how it goes.

    Ctrl-C (or a termination signal) ends it after the step at hand, with a checkpoint.

    Raises:
        NmtError: a corpus, vocabulary or run directory that does not fit, or a loss that is no number any more; the
            message says what to do.
    """
    configure_runtime()
    set_determinism(config.training.seed, config.training.deterministic)
    ticker = StatusLine()
    with claimed(Path(config.directory) / config.name):
        prepared = prepare(config, decide_precision(config.training.precision), ticker.print)
        return Trainer(prepared, ticker).run()


class Trainer:
    """One run's model, optimizer and place in the stream of batches.

    Args:
        prepared: run, training pairs and validation pairs.
        ticker: where progress is shown.
    """

    def __init__(self, prepared: Prepared, ticker: StatusLine) -> None:
        self.prepared, self.directory, self.ticker = prepared, prepared.run.directory, ticker
        self.config = prepared.run.config.training
        self._recent: collections.deque[tuple[int, int, float]] = collections.deque(maxlen=RECENT + 1)
        self.guided = prepared.train.links is not None
        shapes = batch_shapes(self.config.shapes)
        self.plan = prepared.train.plan(self.config.batch_tokens, self.config.window, self.config.seed, shapes)
        first_pass = list(self.plan.batches(0))
        self.steps_per_pass, self.waste = len(first_pass), self.plan.padding_share(first_pass)
        batches = self.config.passes * self.steps_per_pass
        if self.config.accumulate > batches and not prepared.run.checkpoints():
            raise TrainingError(
                f"training.accumulate is {self.config.accumulate}, and all passes together have about {batches} "
                "batches: there would be no update; choose less, under another name, or more passes"
            )
        self.model = self._build(self.config.precision)
        self.spared = self.model.spare_memory(self.plan.largest_batch_cells(first_pass))
        self.optimizer = self._optimizer()
        self.slices = slices_for(self.config.batch_tokens, prepared.run.target.size)
        self.train_step = TrainStep(self.model, self.optimizer, self.config.label_smoothing, self.slices)
        # Validation and translation use the averaged weights: a model of their own, so that nothing is swapped.
        self.averaged = self._build("float32")
        self.translator = Translator(prepared.run, self.averaged)
        self.translator.require_pieces(prepared.run.config.search)  # told now, and not after a pass
        self.place = Place()
        self.history: list[dict[str, Any]] = []
        self._validating = 0.0
        """Seconds that the last validation took; 0 until there is one."""
        self.events = EventWriter(self.directory / "tensorboard")

    def _build(self, precision: str) -> Seq2Seq:
        run = self.prepared.run
        model = Seq2Seq(run.config.model, run.source.size, run.target.size, self.config.seed, precision)
        model.build()
        return model

    def _optimizer(self) -> keras.optimizers.Optimizer:
        config = self.config
        optimizer: keras.optimizers.Optimizer = Adam(
            learning_rate(config.schedule, config.passes * self.steps_per_pass),
            global_clipnorm=config.clip_norm or None,
            gradient_accumulation_steps=config.accumulate if config.accumulate > 1 else None,
            use_ema=config.ema > 0,
            ema_momentum=config.ema or 0.99,
        )
        if config.precision == "mixed_float16":
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
        optimizer.build(self.model.trainable_variables)
        return optimizer

    def run(self) -> TrainingResult:
        """Trains to the end or to an interruption."""
        self._restore()
        self._introduce()
        if self._done() and (self.place.batches or self.place.best is None):  # interrupted, and now wanted shorter
            self._validate()
        with interruption() as interrupted:
            while not self._done():
                self._train_pass(interrupted)
                if interrupted.is_set() and not self._done():
                    self._save()
                    self.ticker.print(
                        f"interrupted; step {self.place.step} is saved in {self.directory}, "
                        "the same command goes on from there"
                    )
                    break
        finished = self._done()
        if finished:
            self.ticker.print(self._farewell())
        return TrainingResult(self.directory, self.place.step, self.place.best, finished)

    def _done(self) -> bool:
        return self.place.stopped_early or self.place.pass_index >= self.config.passes

    def _train_pass(self, interrupted: threading.Event) -> None:
        """Trains the rest of the current pass, or until an interruption or early stopping."""
        place, every = self.place, self.config.checkpoints.every
        started = time.perf_counter()
        for batch in pass_batches(self.prepared.train, self.plan, place.pass_index, place.batch):
            self._step(batch)
            place.seconds += time.perf_counter() - started
            self._note_speed()
            self.ticker.show(self._line, place.step % self.config.log_every == 0)
            if self.config.validate_every and place.step % self.config.validate_every == 0:
                self._validate()
            elif every and place.step % every == 0:
                self._save()
            if interrupted.is_set() or place.stopped_early:
                return
            started = time.perf_counter()
        place.pass_index, place.batch = place.pass_index + 1, 0
        last = place.pass_index == self.config.passes
        if (last and place.batches) or not self.config.validate_every:
            self._validate()
        elif last:  # validated at this very step
            self._save()

    def _step(self, batch: Batch | GuidedBatch) -> None:
        place = self.place
        if self.config.schedule.decay == "plateau":
            self.optimizer.learning_rate.assign(self._rate_of_plateau())
        if isinstance(batch, GuidedBatch):
            guided = self.config.guided
            loss, attention = self.train_step.guided(batch, guided.weight * guided.decay**place.pass_index)
            place.guided += attention
        else:
            loss = self.train_step(batch)
        self._require_finite(f"step {place.step + 1}: the loss is {loss}", loss)
        place.step, place.batch = place.step + 1, place.batch + 1
        place.losses, place.batches = place.losses + loss, place.batches + 1
        place.tokens += int(np.count_nonzero(np.asarray(batch.target_out) != PAD))

    def _require_finite(self, what: str, *values: Any) -> None:
        """Weights that have come apart mend no more: nothing of them is saved."""
        if all(np.isfinite(value).all() for value in values):
            return
        schedule = self.config.schedule
        raise TrainingError(
            f"{what}, and nothing can be learned from there; what was saved before is in {self.directory}. Try a "
            f"smaller training.schedule.learning_rate (now {schedule.learning_rate:g}), a longer warm-up, or "
            "training.precision float32, under a new name"
        )

    def _note_speed(self) -> None:
        self._recent.append((self.place.step, self.place.tokens, self.place.seconds))

    def _rate_of_plateau(self) -> float:
        schedule, place = self.config.schedule, self.place
        warmup = warmup_steps(schedule, self.config.passes * self.steps_per_pass)
        return schedule.learning_rate * min((place.step + 1) / max(warmup, 1), 1.0) * 0.5**place.halvings

    def _line(self) -> str:
        place, total = self.place, self.steps_per_pass * self.config.passes
        guided = f"attention {place.guided / place.batches:.3f}  " if self.guided else ""
        return (
            f"pass {place.pass_index + 1}/{self.config.passes}  step {place.step}/~{total}  "
            f"loss {place.losses / place.batches:.3f}  {guided}{self._speed(total)}"
        )

    def _speed(self, total: int) -> str:
        """Speed and time left by the last steps alone, and not by the first, which compiles: the run may have slept, or
        have begun on another machine."""
        steps, tokens, seconds = (now - then for now, then in zip(self._recent[-1], self._recent[0], strict=True))
        if not steps:
            return "compiled"
        left = seconds / steps * max(total - self.place.step, 0) + self._validating * self._validations(total)
        return f"{tokens / max(seconds, 1e-9):,.0f} tokens/s  {duration(left)} left"

    def _validations(self, total: int) -> int:
        """How many are still to come."""
        every = self.config.validate_every or self.steps_per_pass
        return max(-(-total // every) - self.place.step // every, 0)

    def _validate(self) -> None:
        """Measures the averaged weights on the validation pairs, keeps them if they are the best, checkpoints."""
        place, started = self.place, time.perf_counter()
        arrays = averaged_arrays(self.model, self.optimizer)
        self._require_finite(f"step {place.step}: the weights are numbers no more", *arrays.values())
        assign_arrays(self.averaged.trainable_variables, arrays, "moving averages")
        measured = validate(self.translator, self.prepared)
        better = self._better(measured)
        if better:
            place.best, place.best_loss, place.stale = measured[self.config.metric], measured["loss"], 0
            save_arrays(self.prepared.run.best, arrays)
        else:
            place.stale += 1
            place.halvings += place.stale % self.config.schedule.plateau == 0
        place.stopped_early = bool(self.config.patience) and place.stale >= self.config.patience
        row = self._record(measured)
        place.losses, place.guided, place.batches = 0.0, 0.0, 0
        self._save()
        shown = "  ".join(f"{name} {value:.2f}" for name, value in measured.items())
        self.ticker.print(f"step {place.step}: validation {shown}{'  (best)' if better else ''}")
        self.events.scalars(place.step, {name: float(value) for name, value in row.items()})
        if (pixels := self._picture()) is not None:
            self.events.image(place.step, "alignment", pixels)
        self._validating = time.perf_counter() - started

    def _better(self, measured: dict[str, float]) -> bool:
        """Whether these weights are the best so far. Where BLEU is the same to the hundredth, as before a model has
        learned anything that BLEU sees, the loss decides."""
        best, best_loss = self.place.best, self.place.best_loss
        if best is None or self.config.metric == "loss":
            return best is None or measured["loss"] < best
        gained = round(measured["bleu"], 2) - round(best, 2)
        return gained > 0 or (gained == 0 and best_loss is not None and measured["loss"] < best_loss)

    def _record(self, measured: dict[str, float]) -> dict[str, Any]:
        """One validation into history.csv."""
        place = self.place
        row: dict[str, Any] = {
            "pass": place.pass_index,
            "step": place.step,
            "train_loss": round(place.losses / max(place.batches, 1), 4),
            **({"guided_loss": round(place.guided / max(place.batches, 1), 4)} if self.guided else {}),
            **{f"validation_{name}": round(value, 4) for name, value in measured.items()},
            "learning_rate": float(f"{float(self.optimizer.learning_rate):.4g}"),
            "tokens_per_second": round(place.tokens / max(place.seconds, 1e-9)),
            "seconds": round(place.seconds, 1),
            "peak_memory_mib": peak_memory(),
        }
        self.history.append(row)
        self.prepared.run.write_history(self.history)
        return row

    def _picture(self) -> np.ndarray | None:
        """The alignment of the first validation pair as pixels, where it can be drawn."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        pair = self.prepared.validation[0]
        alignment = next(self.translator.align([pair.source], [pair.target])).alignment
        if not drawable(alignment):
            return None
        canvas = FigureCanvasAgg(heatmap(alignment))
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())

    def _save(self) -> None:
        variables = [*self.model.variables, *self.optimizer.variables]
        arrays = variables_to_arrays(variables)
        self._require_finite(f"step {self.place.step}: the weights are numbers no more", *arrays.values())
        arrays["place"] = np.array(json.dumps(asdict(self.place)))
        self.prepared.run.save_checkpoint(self.place.step, arrays)

    def _restore(self) -> None:
        """Goes back to the newest checkpoint, if there is one."""
        checkpoints = self.prepared.run.checkpoints()
        if not checkpoints:
            if self.config.initial:
                self._begin_with(open_origin(self.prepared.run.config))
            return
        try:
            arrays = load_arrays(checkpoints[-1])
            self.place = _place(checkpoints[-1], arrays.pop("place", None))
        except RunError as error:
            then = "goes on from the one before"
            if len(checkpoints) == 1:
                then = f"begins anew, for there is no other; {self.prepared.run.best.name} translates until then"
            raise RunError(f"{error}: delete it, and training {then}") from None
        assign_arrays([*self.model.variables, *self.optimizer.variables], arrays, str(checkpoints[-1]))
        rows = self.prepared.run.read_history()
        self.history = [dict(row) for row in rows if int(row["step"]) <= self.place.step]
        if not self.config.patience or self.place.stale < self.config.patience:  # more patience than before: go on
            self.place.stopped_early = False

    def _begin_with(self, origin: Run) -> None:
        """Takes the weights of another run."""
        run = self.prepared.run
        carried = carry_over(self.model, run, origin)
        self.ticker.print(
            f"the weights of {origin.directory} to begin with: it has {carried.source} of {run.source.size} source "
            f"pieces and {carried.target} of {run.target.size} target pieces"
        )

    def _introduce(self) -> None:
        run = self.prepared.run
        self.ticker.print(
            f"{len(self.prepared.train)} training pairs, {len(self.prepared.validation)} validation pairs, "
            f"{self.model.count_params():,} parameters, {run.config.training.precision}"
        )
        if self._done():
            return
        went = f"going on from step {self.place.step}; " if self.place.step else ""
        self.ticker.print(
            f"{went}about {self.steps_per_pass} batches a pass, {100 * self.waste:.1f} % padding; "
            f"run directory {self.directory}"
        )
        if self.slices > 1:
            self.ticker.print(
                f"the loss is computed in {self.slices} slices of a batch, which keeps memory flat: "
                f"{self.config.batch_tokens} tokens x {run.target.size} pieces are too much at once"
            )
        if self.spared:
            self.ticker.print(
                "attention's hidden layer is computed again on the way back, which saves memory: of the largest batch "
                f"it has {self.spared >> 18} MiB"
            )

    def _farewell(self) -> str:
        reason = (
            f"no better {self.config.metric} in {self.config.patience} validations"
            if self.place.stopped_early
            else f"{self.place.pass_index} pass{'es' if self.place.pass_index > 1 else ''} done"
        )
        return (
            f"training has ended: {reason}, {self.place.step} steps in {duration(self.place.seconds)}; "
            f"best validation {self.config.metric} {self.place.best:.2f}"
        )


def validate(translator: Translator, prepared: Prepared) -> dict[str, float]:
    """Loss (nats a token), greedy BLEU, and alignment error rate where the validation pairs have gold links."""
    pairs = prepared.validation
    sources = [pair.source for pair in pairs]
    forced = list(translator.align(sources, [pair.target for pair in pairs]))
    tokens = sum(len(ids) + 1 for ids in prepared.run.target.encode([pair.target for pair in pairs]))
    greedy = [
        translation.text
        for translation in translator.translate(
            sources, replace(translator.config.search, method="beam", beam_size=1, short_list=0)
        )
    ]
    measured = {
        "loss": -sum(pair.log_probability for pair in forced) / tokens,
        "bleu": bleu(greedy, [pair.target for pair in pairs]).value,
    }
    if pairs[0].alignment is not None:
        gold = [parse_pharaoh(pair.alignment or "", f"validation pair {i + 1}") for i, pair in enumerate(pairs)]
        measured["aer"] = alignment_score([pair.alignment.links for pair in forced], gold).aer
    return measured


def _place(checkpoint: Path, saved: np.ndarray | None) -> Place:
    """The place in the stream that a checkpoint holds.

    Raises:
        RunError: it holds none, or one of another nmt.
    """
    try:
        return Place(**json.loads(str(saved)))
    except (ValueError, TypeError):
        raise RunError(f"{checkpoint}: does not say where training was: not a checkpoint of this nmt") from None


@contextlib.contextmanager
def interruption() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or termination signal sets; the second Ctrl-C raises KeyboardInterrupt."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def request(number: int, frame: object) -> None:
        if event.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        event.set()
        print("\nnmt: finishing this step, then saving ... (Ctrl-C again: without saving)", file=sys.stderr)

    handlers = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
