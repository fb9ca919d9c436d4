"""Training: the place in the stream, validation, checkpoints, and going on.

What decides when to validate, save and stop is tested with a step that only counts; the rest with the real one.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import copy_task
import numpy as np
import pytest

from nmt.backend.compiling import set_determinism
from nmt.backend.precision import decide_precision
from nmt.batches.arrays import Batch
from nmt.config import CorpusConfig, PairsConfig, RunConfig, SearchConfig
from nmt.drawing import MOST_WORDS
from nmt.errors import NmtError
from nmt.files.locking import locked
from nmt.progress import StatusLine, duration
from nmt.run.arrays import load_arrays
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.text.pairs import Pair
from nmt.training import validation
from nmt.training.errors import TrainingError
from nmt.training.interruption import interruption
from nmt.training.optimizer import AVERAGED_EVERY
from nmt.training.preparation.prepare import prepare
from nmt.training.step import TrainStep
from nmt.training.trainer import Trainer, TrainingResult, train
from nmt.training.validation import Validation

HANDLER = signal.getsignal(signal.SIGINT)
"""Of Ctrl-C outside a training; a process in the background may ignore it."""

# A step that only counts


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("corpus")
    copy_task.write_corpus(directory, train=200, validation=8)
    return directory


class Counting:
    """In place of the compiled step: sets the output bias to the number of the step and keeps the batches.

    Args:
        signals: signals to send to this process at a step.
    """

    def __init__(self, signals: dict[int, list[int]]) -> None:
        self.signals, self.batches = signals, []
        self.losses: dict[int, float] = {}
        self.weights: dict[int, float] = {}

    def __call__(self, model: Any, optimizer: Any, smoothing: float, slices: int) -> Any:
        def step(batch: Batch) -> float:
            self.batches.append([np.asarray(side).tobytes() for side in batch])
            optimizer.iterations.assign_add(1)
            count = int(optimizer.iterations)
            model.output_bias.assign(np.full(model.output_bias.shape, self.weights.get(count, count), np.float32))
            for number in self.signals.pop(count, []):
                os.kill(os.getpid(), number)
            return self.losses.get(count, 1.0)

        return step


@pytest.fixture
def counting(monkeypatch) -> Counting:
    """Training without a network: the step counts and validations measure what `measured` says, one after the other."""
    step = Counting({})
    monkeypatch.setattr("nmt.training.trainer.TrainStep", step)
    monkeypatch.setattr(Validation, "alignment_image", lambda self: np.zeros((2, 2, 3), np.uint8))
    measure(monkeypatch, range(1000))
    return step


def measure(monkeypatch, bleu: Any, loss: Any = None) -> None:
    """What the next validations find."""
    values = zip(bleu, loss or bleu, strict=False)
    monkeypatch.setattr(
        validation, "measure", lambda *_: dict(zip(("bleu", "loss"), map(float, next(values)), strict=True))
    )


def config(corpus: Path, directory: Path, name: str = "run", **fields: Any) -> RunConfig:
    """A run of 3 passes of 10 batches."""
    made = copy_task.config(corpus, name=name, training={"batch_tokens": 100, "passes": 3, "ema": 0.0, **fields})
    return replace(made, directory=str(directory))


def weights_of(path: Path) -> float:
    """The step at which these weights were saved."""
    arrays = load_arrays(path)
    return float(next(value for name, value in arrays.items() if name.endswith("output_bias"))[0])


def history(result: TrainingResult) -> list[dict[str, str]]:
    return Run.open(result.directory).read_history()


def state(result: TrainingResult) -> dict[str, Any]:
    arrays = load_arrays(Run.open(result.directory).checkpoints()[-1])
    return json.loads(str(arrays["place"]))


@pytest.fixture
def steps(corpus, tmp_path, counting) -> int:
    """Steps of a pass."""
    return train(config(corpus, tmp_path, "one pass", passes=1)).steps


def test_a_validation_and_a_row_a_pass(corpus, tmp_path, counting, steps):
    result = train(config(corpus, tmp_path))
    with open(result.directory / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "pass", "step", "train_loss", "validation_bleu", "validation_loss", "learning_rate", "tokens_per_second",
        "seconds", "peak_memory_mib",
    ]  # fmt: skip
    assert [(int(row["pass"]), int(row["step"])) for row in rows] == [(1, steps), (2, 2 * steps), (3, 3 * steps)]
    assert {row["train_loss"] for row in rows} == {"1.0"}
    assert int(rows[0]["peak_memory_mib"]) > 10
    assert result == TrainingResult(tmp_path / "run", 3 * steps, 3.0, True)


def test_validations_every_so_many_steps_and_at_the_end(corpus, tmp_path, counting, steps):
    uneven = train(config(corpus, tmp_path, "uneven", validate_every=7))
    assert [int(row["step"]) for row in history(uneven)] == [*range(7, 3 * steps, 7), 3 * steps]
    even = train(config(corpus, tmp_path, "even", validate_every=steps))
    assert [int(row["step"]) for row in history(even)] == [steps, 2 * steps, 3 * steps]
    assert state(even)["pass_index"] == 3


@pytest.mark.parametrize(("metric", "best"), [("bleu", 2), ("loss", 1)])
def test_metric_decides_which_weights_are_the_best(metric, best, corpus, tmp_path, counting, steps, monkeypatch):
    measure(monkeypatch, bleu=[10, 30, 20], loss=[1.0, 3.0, 2.0])
    result = train(config(corpus, tmp_path, metric=metric))
    assert weights_of(result.directory / "best.npz") == best * steps
    assert result.best == {"bleu": 30.0, "loss": 1.0}[metric]


def test_the_loss_decides_where_bleu_is_the_same(corpus, tmp_path, counting, monkeypatch, steps):
    """BLEU 0 to the hundredth until something is learned: of the first three the second, by its loss."""
    measure(monkeypatch, bleu=[0.001, 0.0, 0.004], loss=[5.0, 3.0, 4.0])
    result = train(config(corpus, tmp_path))
    assert weights_of(result.directory / "best.npz") == 2 * steps
    measure(monkeypatch, bleu=[0.02, 0.02], loss=[9.0, 9.0])
    result = train(config(corpus, tmp_path, passes=5))
    assert weights_of(result.directory / "best.npz") == 4 * steps
    assert (state(result)["best"], state(result)["stale"]) == (0.02, 1)


def test_patience(corpus, tmp_path, counting, steps, monkeypatch, capsys):
    measure(monkeypatch, [10, 30, 20, 30, 40, 1, 1, 1, 1, 1])
    impatient = config(corpus, tmp_path, passes=10, patience=2)
    result = train(impatient)
    assert (result.steps, result.best, result.finished) == (4 * steps, 30.0, True)
    assert "no better bleu in 2 validations" in capsys.readouterr().err
    assert train(impatient).steps == 4 * steps
    more = replace(impatient, training=replace(impatient.training, patience=3))
    assert (train(more).steps, train(more).best) == (8 * steps, 40.0)
    never = replace(impatient, training=replace(impatient.training, patience=0))
    assert train(never).steps == 10 * steps


def test_patience_of_0_never_ends(corpus, tmp_path, counting, steps, monkeypatch):
    measure(monkeypatch, [9, 8, 7, 6, 5])
    assert train(config(corpus, tmp_path, passes=5, patience=0)).steps == 5 * steps


def test_a_plateau_halves_the_learning_rate(corpus, tmp_path, counting, steps, monkeypatch):
    """BLEU of each pass 3, 2, 3, 4, 4, 1: twice two in a row are no better, behind the third and the sixth pass."""
    measure(monkeypatch, [3, 2, 3, 4, 4, 1, 0])
    schedule = {"learning_rate": 0.8, "warmup_steps": 4, "decay": "plateau", "plateau": 2}
    result = train(config(corpus, tmp_path, passes=7, schedule=schedule, patience=0))
    rows = [float(row["learning_rate"]) for row in history(result)]
    assert rows == pytest.approx([0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2])
    assert state(result)["halvings"] == 2


def test_a_plateau_is_gone_on_with(corpus, tmp_path, counting, steps, monkeypatch):
    measure(monkeypatch, [3, 2, 2])
    schedule = {"learning_rate": 0.8, "warmup_steps": 0, "decay": "plateau", "plateau": 2}
    train(config(corpus, tmp_path, passes=3, schedule=schedule, patience=0))
    measure(monkeypatch, [4])
    result = train(config(corpus, tmp_path, passes=4, schedule=schedule, patience=0))
    assert float(history(result)[-1]["learning_rate"]) == pytest.approx(0.4)


@pytest.mark.parametrize("keep", [1, 3])
def test_checkpoints_between_validations(keep, corpus, tmp_path, counting, steps):
    result = train(config(corpus, tmp_path, passes=1, checkpoints={"every": 4, "keep": keep}))
    expected = sorted({*range(4, steps + 1, 4), steps})[-keep:]
    checkpoints = Run.open(result.directory).checkpoints()
    assert [int(path.stem) for path in checkpoints] == expected
    assert [weights_of(path) for path in checkpoints] == expected


def test_lines_of_progress_where_there_is_no_terminal(corpus, tmp_path, counting, steps, capsys):
    train(config(corpus, tmp_path, passes=1, log_every=3))
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("nmt: epoch ")]
    assert [int(line.split("step ")[1].split("/")[0]) for line in said] == list(range(3, steps + 1, 3))
    assert said[0].startswith(f"nmt: epoch 1/1  step 3/~{steps}  loss 1.000  ")


def test_same_command_on_a_finished_run_says_so_and_changes_nothing(corpus, tmp_path, counting, capsys):
    result = train(config(corpus, tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    batches = len(counting.batches)
    capsys.readouterr()
    assert train(config(corpus, tmp_path)) == result
    assert "training has ended: 3 epochs done" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert len(counting.batches) == batches


def test_more_passes_go_on(corpus, tmp_path, counting, steps):
    train(config(corpus, tmp_path, "run", passes=2))
    train(config(corpus, tmp_path, "run", passes=3))
    longer = [*counting.batches[steps:]]
    counting.batches.clear()
    train(config(corpus, tmp_path, "at once", passes=3))
    assert longer == counting.batches


def test_seed_decides_the_weights_and_the_order(corpus, tmp_path, counting):
    def run(name: str, seed: int) -> tuple[bytes, list[Any]]:
        counting.batches.clear()
        arrays = load_arrays(train(config(corpus, tmp_path, name, passes=1, seed=seed)).directory / "best.npz")
        return b"".join(value.tobytes() for value in arrays.values()), list(counting.batches)

    first, again, other = run("a", 1), run("b", 1), run("c", 2)
    assert first == again
    assert first[0] != other[0]
    assert first[1] != other[1]


# Interruptions


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("passes", "more"), [(0, 1), (1, -1), (1, 0), (1, 3)])
def test_interrupted_after_any_step_and_gone_on_with(passes, more, number, corpus, tmp_path, counting, steps, capsys):
    step = passes * steps + more
    counting.batches.clear()
    undisturbed = train(config(corpus, tmp_path, "undisturbed"))
    expected = list(counting.batches)
    counting.batches.clear()
    counting.signals[step] = [number]
    interrupted = train(config(corpus, tmp_path, "interrupted"))
    assert (interrupted.steps, interrupted.finished) == (step, False)
    assert f"interrupted; step {step} is saved in {tmp_path}/interrupted, the same" in capsys.readouterr().err
    assert weights_of(Run.open(interrupted.directory).checkpoints()[-1]) == step
    result = train(config(corpus, tmp_path, "interrupted"))
    assert counting.batches == expected
    assert (result.steps, result.finished) == (undisturbed.steps, True)
    rows = [[(row["pass"], row["step"], row["train_loss"]) for row in history(r)] for r in (undisturbed, result)]
    assert rows[0] == rows[1]
    assert signal.getsignal(signal.SIGINT) is HANDLER


def test_an_interruption_while_the_end_is_measured_comes_too_late(corpus, tmp_path, counting, monkeypatch, capsys):
    real = validation.measure

    def measured(*arguments: Any) -> dict[str, float]:
        signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr("nmt.training.validation.measure", measured)
    assert train(config(corpus, tmp_path, passes=1)).finished
    said = capsys.readouterr().err
    assert "training has ended" in said and "interrupted; step" not in said


def test_fewer_passes_than_were_begun_end_with_a_validation(corpus, tmp_path, counting, steps):
    counting.signals[steps + 2] = [signal.SIGINT]
    fields = {"validate_every": 10 * steps}
    assert train(config(corpus, tmp_path, **fields)).best is None
    result = train(config(corpus, tmp_path, passes=1, **fields))
    assert result.finished and result.best is not None
    assert weights_of(result.directory / "best.npz") == steps + 2


def test_a_run_is_trained_by_one_process(corpus, tmp_path, counting):
    result = train(config(corpus, tmp_path, passes=1))
    with (
        locked(result.directory, RunError("here")),
        pytest.raises(RunError, match="is trained already, by another process: wait, or end that one"),
    ):
        train(config(corpus, tmp_path, passes=2))
    assert Run.open(result.directory).config.training.passes == 1  # nothing of it has been touched
    assert train(config(corpus, tmp_path, passes=2)).finished
    assert Run.open(result.directory).config.training.passes == 2


def test_two_trainings_of_one_new_name_do_not_write_over_each_other(corpus, tmp_path, counting):
    """The second is told before it prepares anything."""
    wanted = config(corpus, tmp_path)
    directory = tmp_path / wanted.name
    directory.mkdir()
    with locked(directory, RunError("here")), pytest.raises(RunError, match="is trained already"):
        train(wanted)
    assert not any(directory.iterdir())
    assert train(wanted).finished


def test_a_directory_that_cannot_be_written_into_is_refused_before_anything_is_read(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    nowhere = CorpusConfig(train=PairsConfig(source="nowhere", target="nowhere"))
    with pytest.raises(RunError, match="cannot be written into: give another --directory"):
        train(replace(config(corpus, tmp_path), corpus=nowhere))


def test_a_mistake_leaves_no_directory(corpus, tmp_path):
    wanted = config(corpus, tmp_path)
    nowhere = replace(wanted.corpus, train=PairsConfig(source="nowhere", target="nowhere"))
    with pytest.raises(NmtError, match="nowhere: No such file"):
        train(replace(wanted, corpus=nowhere))
    assert not (tmp_path / wanted.name).exists()


def test_a_piece_to_suppress_that_there_is_not_is_told_before_training(corpus, tmp_path, counting):
    wanted = replace(config(corpus, tmp_path), search=SearchConfig(suppress=("[no such piece]",)))
    with pytest.raises(NmtError, match=r"search\.suppress: '\[no such piece\]' is no piece"):
        train(wanted)
    assert not counting.batches


def test_a_signal_to_end_does_not_end_what_ctrl_c_has_it_save(corpus, tmp_path, counting, steps):
    """As where a comparison passes on what a terminal has sent to both."""
    counting.signals[steps] = [signal.SIGINT, signal.SIGTERM, signal.SIGTERM]
    result = train(config(corpus, tmp_path))
    assert not result.finished and state(result)["step"] == steps


def test_second_interruption_ends_at_once_and_the_last_checkpoint_counts(corpus, tmp_path, counting, steps):
    counting.signals[steps + 2] = [signal.SIGINT, signal.SIGINT]
    with pytest.raises(KeyboardInterrupt):
        train(config(corpus, tmp_path))
    counting.batches.clear()
    assert train(config(corpus, tmp_path)).steps == 3 * steps
    assert len(counting.batches) == 2 * steps


def test_signals_are_left_alone_outside_the_main_thread():
    seen = []

    def run() -> None:
        with interruption() as event:
            seen.append((event.is_set(), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [(False, HANDLER)]


def test_damaged_checkpoint_is_named(corpus, tmp_path, counting):
    result = train(config(corpus, tmp_path, passes=1))
    (newest,) = Run.open(result.directory).checkpoints()
    newest.write_bytes(newest.read_bytes()[:1000])
    with pytest.raises(
        RunError, match=f"{newest}: damaged.*: delete it, and training starts over, because there is no other"
    ):
        train(config(corpus, tmp_path, passes=2))
    (newest.parent / "000000000.npz").write_bytes(b"")
    with pytest.raises(
        RunError, match=f"{newest}: damaged.*: delete it, and training resumes from the checkpoint before it"
    ):
        train(config(corpus, tmp_path, passes=2))


# With the real step


@pytest.fixture
def trainer(corpus, tmp_path) -> Any:
    """Makes a trainer that has set up its run but not begun."""

    def make(name: str = "run", **fields: Any) -> Trainer:
        settings = config(corpus, tmp_path, name, **fields)
        set_determinism(settings.training.seed, False)
        return Trainer(prepare(settings, settings.training.precision, [].append), StatusLine(io.StringIO()))

    return make


def first_batch(trainer: Trainer) -> Batch:
    return trainer.prepared.train.batch(next(trainer.plan.batches(0)))


def momentum_norm(trainer: Trainer) -> float:
    """Of Adam's first moments; after one step 0.1 times the norm of the gradient."""
    moments = [v.value for v in trainer.optimizer.variables if "momentum" in v.path]
    return math.sqrt(sum(float(np.square(np.asarray(m)).sum()) for m in moments))


def test_gradients_are_clipped_to_their_global_norm(trainer):
    norms = {}
    for clip_norm in (0.0, 0.01, 1e6):
        one = trainer(f"clip {clip_norm}", clip_norm=clip_norm)
        one._step(first_batch(one))
        norms[clip_norm] = momentum_norm(one)
    assert norms[0.01] == pytest.approx(0.001, rel=1e-3)
    assert norms[0.0] > 0.01
    assert norms[1e6] == pytest.approx(norms[0.0], rel=1e-4)


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_loss_that_is_no_number_ends_the_training_and_spoils_nothing(corpus, tmp_path, counting, loss):
    counting.losses[14] = loss
    settings = config(corpus, tmp_path, checkpoints={"every": 4})
    with pytest.raises(TrainingError, match=rf"^step 14: the loss is {loss}, .*learning_rate \(now 0.01\)"):
        train(settings)
    run = Run.open(tmp_path / "run")
    assert run.checkpoints()[-1].name == "000000012.npz"
    assert [int(row["step"]) for row in run.read_history()] == [10]
    counting.losses.clear()
    counting.batches.clear()
    assert train(settings).steps == 30
    assert len(counting.batches) == 30 - 12


@pytest.mark.parametrize(("step", "before"), [(10, 8), (12, 10)])
def test_weights_that_are_no_numbers_are_not_saved(corpus, tmp_path, counting, step, before):
    """At a validation, and at a checkpoint: the update after a loss that was a number still."""
    counting.weights[step] = math.nan
    with pytest.raises(TrainingError, match=rf"^step {step}: weights are NaN or infinite"):
        train(config(corpus, tmp_path, checkpoints={"every": 4}))
    run = Run.open(tmp_path / "run")
    assert run.checkpoints()[-1].name == f"{before:09d}.npz"
    assert run.best.exists() == (before == 10)
    assert weights_of(run.checkpoints()[-1]) == before


def test_speed_and_time_left_are_of_the_last_steps(trainer):
    """Not of the hour that the run has behind it, most of which the machine slept."""
    one = trainer()
    one.state.batches, total = 11, one.steps_per_pass * one.config.passes
    for one.state.step, one.state.tokens, one.state.seconds in ((10, 1000, 3600.0), (11, 1200, 3601.0)):
        one.speed.note(one.state)
        assert one._line().endswith("compiled") == (one.state.step == 10)
    assert f"200 tokens/s  {duration(total - 11)} left" in one._line()
    one.speed.validation_seconds = 60.0  # each of those to come, the one at the end among them
    passes = one.config.passes - 11 // one.steps_per_pass
    for every, left in ((0, passes), (total - 1, 2), (10, -(-total // 10) - 1)):
        one.speed.config = replace(one.config, validate_every=every)
        assert f"200 tokens/s  {duration(total - 11 + 60 * left)} left" in one._line()


def test_averages_of_the_weights_are_what_is_validated_and_kept(trainer):
    one = trainer(ema=0.95)
    expected: list[np.ndarray] = []
    for t in range(10):
        one._step(first_batch(one))
        if t % AVERAGED_EVERY:
            continue
        taken = t // AVERAGED_EVERY
        decay = min(0.95**AVERAGED_EVERY, taken / (taken + 19))
        now = [np.asarray(v.value) for v in one.model.trainable_variables]
        # The first step's weights begin the average; then each that counts takes its share of the new ones.
        expected = [decay * old + (1 - decay) * new for old, new in zip(expected or now, now, strict=True)]
    one._validate()
    best = load_arrays(one.prepared.run.directory / "best.npz")
    for name, average in zip(best, expected, strict=True):
        np.testing.assert_allclose(best[name], average, atol=1e-6, err_msg=name)
    for variable, average in zip(one.validation.model.trainable_variables, expected, strict=True):
        np.testing.assert_allclose(np.asarray(variable.value), average, atol=1e-6)


def test_validation_measures_loss_bleu_and_alignment(trainer, corpus):
    one = trainer()
    measured = validation.measure(one.validation.translator, one.prepared.validation)
    assert list(measured) == ["loss", "bleu", "aer"]
    assert measured["loss"] == pytest.approx(mean_loss(one), rel=1e-5)
    without = [pair._replace(alignment=None) for pair in one.prepared.validation]
    assert list(validation.measure(one.validation.translator, without)) == ["loss", "bleu"]


def mean_loss(trainer: Trainer) -> float:
    """Cross-entropy a token, sentence by sentence from the probabilities of the model."""
    run, total, tokens = trainer.prepared.run, 0.0, 0
    for pair in trainer.prepared.validation:
        source, target = run.source.encode([pair.source])[0] + [3], run.target.encode([pair.target])[0]
        logits = np.asarray(trainer.validation.model(np.array([source]), np.array([[2, *target]]))[0][0], np.float64)
        probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
        total -= sum(math.log(probabilities[i, piece]) for i, piece in enumerate([*target, 3]))
        tokens += len(target) + 1
    return total / tokens


def test_precision_that_was_decided_is_saved(corpus, tmp_path, counting):
    result = train(config(corpus, tmp_path, passes=1, precision="auto"))
    saved = Run.open(result.directory).config.training.precision
    assert saved == decide_precision("auto") != "auto"


def test_a_validation_pair_too_long_to_be_drawn_is_no_reason_to_end(trainer):
    made = trainer()
    long = " ".join(["ba"] * (MOST_WORDS + 1))
    made.validation.pairs = [Pair(long, long)]
    assert made.validation.alignment_image() is None


def test_loss_and_alignments_are_in_the_events(corpus, tmp_path, counting):
    result = train(config(corpus, tmp_path, passes=1))
    written = b"".join(path.read_bytes() for path in (result.directory / "tensorboard").iterdir())
    for name in (b"validation_bleu", b"train_loss", b"alignment", b"\x89PNG"):
        assert name in written


# Guided alignment


def guided(corpus: Path, directory: Path, name: str, links: str, **fields: Any) -> RunConfig:
    return config(corpus, directory, name, guided={"links": links, **fields.pop("guided", {})}, **fields)


def test_the_weight_decays_from_pass_to_pass(corpus, tmp_path, monkeypatch):
    weights: list[float] = []

    class Step(Counting):
        def __call__(self, *arguments: Any) -> Any:
            plain = super().__call__(*arguments)

            def step(batch: Any, weight: float) -> tuple[float, float]:
                weights.append(weight)
                return plain(batch[:3]), 2.0

            plain.guided = step
            return plain

    monkeypatch.setattr("nmt.training.trainer.TrainStep", Step({}))
    monkeypatch.setattr(Validation, "alignment_image", lambda self: np.zeros((2, 2, 3), np.uint8))
    measure(monkeypatch, range(9))
    settings = guided(corpus, tmp_path, "run", str(corpus / "train.align"), guided={"weight": 0.8, "decay": 0.5})
    result = train(settings)
    assert sorted(set(weights), reverse=True) == [0.8, 0.4, 0.2]
    assert [row["guided_loss"] for row in history(result)] == ["2.0", "2.0", "2.0"]


def test_a_guided_run_goes_on_to_the_bit(corpus, tmp_path, monkeypatch, capsys):
    """Interrupted within a pass and gone on with: the same weights and the same history as without. Both losses are
    told apart, and the attention's falls."""
    links = str(corpus / "train.align")
    whole = train(guided(corpus, tmp_path, "whole", links, deterministic=True, passes=2, log_every=5))
    assert "  attention " in capsys.readouterr().err
    rows = history(whole)
    assert list(rows[0])[:4] == ["pass", "step", "train_loss", "guided_loss"]
    losses = [float(row["guided_loss"]) for row in rows]
    assert losses[1] < losses[0] < math.log(7)  # at first attention is nearly even over at most 7 positions
    real, after = TrainStep.guided, [4]

    def step(self: Any, *arguments: Any) -> Any:
        after[0] -= 1
        if after[0] == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return real(self, *arguments)

    monkeypatch.setattr(TrainStep, "guided", step)
    settings = guided(corpus, tmp_path, "parts", links, deterministic=True, passes=2, log_every=5)
    assert not train(settings).finished
    parts = train(settings)
    expected, found = (load_arrays(run.directory / "best.npz") for run in (whole, parts))
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
    told = [[(row["train_loss"], row["guided_loss"]) for row in history(run)] for run in (whole, parts)]
    assert told[0] == told[1]


def test_guidance_lowers_the_alignment_error(tmp_path):
    """The same short training with and without links; validation has gold links, which guide nothing."""
    copy_task.write_corpus(tmp_path, train=600, validation=30)
    fields = {"passes": 3, "batch_tokens": 200, "ema": 0.0}
    plain = train(config(tmp_path, tmp_path, "plain", **fields))
    led = train(guided(tmp_path, tmp_path, "led", str(tmp_path / "train.align"), **fields))
    errors = [float(history(run)[-1]["validation_aer"]) for run in (plain, led)]
    assert errors[1] < 0.6 * errors[0]


def test_validation_is_greedy_whatever_the_run_searches_by(trainer):
    one = trainer()
    expected = validation.measure(one.validation.translator, one.prepared.validation)
    sampling = replace(one.validation.translator.config, search=SearchConfig(method="sample", temperature=5.0))
    one.validation.translator.config = sampling
    assert validation.measure(one.validation.translator, one.prepared.validation) == expected


def test_more_batches_for_an_update_than_there_are_is_refused(trainer):
    with pytest.raises(TrainingError, match=r"training.accumulate is 9999, but all epochs together have about \d+ bat"):
        trainer(accumulate=9999)
