"""The training loop: when it validates and saves, when it ends, and what a resumed run continues with.

Most tests replace the training step with one that only counts.
"""

from __future__ import annotations

import csv
import json
import math
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from short_runs import CountingStep, config, history, saved_state, weights_of

from nmt.backend.precision import decide_precision
from nmt.batches.arrays import Batch
from nmt.config import RunConfig, SearchConfig
from nmt.errors import NmtError
from nmt.progress import duration
from nmt.run.arrays import load_arrays
from nmt.run.directory import Run
from nmt.training.averaging import weights_have_changed
from nmt.training.errors import TrainingError
from nmt.training.trainer import Trainer, TrainingResult, train


def test_each_epoch_ends_with_a_validation_and_a_row_of_history(corpus, tmp_path, counting, steps):
    result = train(config(corpus, tmp_path))
    with open(result.directory / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "pass", "step", "train_loss", "validation_bleu", "validation_loss", "learning_rate", "tokens_per_second",
        "seconds", "peak_memory_mib", "epochs",
    ]  # fmt: skip
    assert [(int(row["pass"]), int(row["step"])) for row in rows] == [(1, steps), (2, 2 * steps), (3, 3 * steps)]
    assert {row["train_loss"] for row in rows} == {"1.0"}
    assert int(rows[0]["peak_memory_mib"]) > 10
    assert result == TrainingResult(tmp_path / "run", 3 * steps, 3.0, True)


def test_validations_come_every_so_many_steps_and_at_the_end(corpus, tmp_path, counting, steps):
    uneven = train(config(corpus, tmp_path, "uneven", validate_every=7))
    assert [int(row["step"]) for row in history(uneven)] == [*range(7, 3 * steps, 7), 3 * steps]
    assert [float(row["epochs"]) for row in history(uneven)] == pytest.approx(
        [*(step / steps for step in range(7, 3 * steps, 7)), 3], abs=0.001
    )
    even = train(config(corpus, tmp_path, "even", validate_every=steps))
    assert [int(row["step"]) for row in history(even)] == [steps, 2 * steps, 3 * steps]
    assert saved_state(even)["pass_index"] == 3


def test_progress_is_a_line_every_log_every_steps_without_a_terminal(corpus, tmp_path, counting, steps, capsys):
    train(config(corpus, tmp_path, passes=1, log_every=3))
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("nmt: epoch ")]
    assert [int(line.split("step ")[1].split("/")[0]) for line in said] == list(range(3, steps + 1, 3))
    assert said[0].startswith(f"nmt: epoch 1/1  step 3/~{steps}  loss 1.000  ")


@pytest.mark.parametrize(("metric", "mark"), [("last", "(saved)"), ("loss", "(best)")])
def test_a_validation_that_compares_nothing_is_not_called_the_best(corpus, tmp_path, counting, capsys, metric, mark):
    train(config(corpus, tmp_path, passes=1, metric=metric))
    said = [line for line in capsys.readouterr().err.splitlines() if ": validation bleu " in line]
    assert said[0].endswith(f"  {mark}")


def test_the_same_command_on_a_finished_run_reports_that_and_changes_nothing(corpus, tmp_path, counting, capsys):
    result = train(config(corpus, tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    batches = len(counting.batches)
    capsys.readouterr()
    assert train(config(corpus, tmp_path)) == result
    assert "training has ended: 3 epochs done" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert len(counting.batches) == batches


def test_more_passes_continue_with_the_next_batch(corpus, tmp_path, counting, steps):
    train(config(corpus, tmp_path, "run", passes=2))
    train(config(corpus, tmp_path, "run", passes=3))
    longer = [*counting.batches[steps:]]
    counting.batches.clear()
    train(config(corpus, tmp_path, "at once", passes=3))
    assert longer == counting.batches


def rates(result: TrainingResult) -> list[float]:
    return [float(row["learning_rate"]) for row in history(result)]


def more_passes_config(corpus: Path, directory: Path, passes: int, more_passes: str) -> RunConfig:
    """A run whose cosine ends at a rate of 0.001."""
    schedule = {"learning_rate": 0.1, "warmup_steps": 0, "final_share": 0.01, "more_passes": more_passes}
    return config(corpus, directory, passes=passes, schedule=schedule)


@pytest.mark.slow
def test_more_passes_that_raise_the_learning_rate_are_reported_once(corpus, tmp_path, counting, capsys):
    train(more_passes_config(corpus, tmp_path, 2, "stretch"))
    assert "learning rate rises" not in capsys.readouterr().err
    counting.signals[23] = [signal.SIGINT]
    train(more_passes_config(corpus, tmp_path, 4, "stretch"))
    assert (
        "nmt: the learning rate rises from 0.001 to 0.0505 at step 20, because its schedule spans 4 epochs and not 2: "
        "--training.schedule.more_passes final_rate keeps the schedule over 2 and continues at its last rate\n"
    ) in capsys.readouterr().err
    result = train(more_passes_config(corpus, tmp_path, 4, "stretch"))
    assert "learning rate rises" not in capsys.readouterr().err
    assert rates(result)[1] < rates(result)[2] < 0.0505
    assert rates(result)[3] == 0.001


def test_a_run_continues_at_its_final_rate(corpus, tmp_path, counting, capsys):
    """The run keeps its planned schedule each time it is resumed."""
    train(more_passes_config(corpus, tmp_path, 2, "stretch"))
    for passes in (3, 4):
        result = train(more_passes_config(corpus, tmp_path, passes, "final_rate"))
        assert rates(result)[1:] == [0.001] * (passes - 1)
    assert "learning rate rises" not in capsys.readouterr().err
    result = train(more_passes_config(corpus, tmp_path, 8, "stretch"))
    assert "rises from 0.001 to 0.0505 at step 40, because its schedule spans 8" in capsys.readouterr().err


def test_checkpoints_without_a_planned_schedule_have_the_passes_of_their_run(corpus, tmp_path, counting, capsys):
    """Version 0.1 did not save the span of the schedule."""
    result = train(more_passes_config(corpus, tmp_path, 2, "stretch"))
    run = Run.open(result.directory)
    arrays = load_arrays(run.checkpoints()[-1])
    state = saved_state(result)
    assert state.pop("schedule_passes") == 2
    path = run.checkpoints()[-1]
    run.save_checkpoint(int(path.stem), {**arrays, "place": np.array(json.dumps(state))})
    result = train(more_passes_config(corpus, tmp_path, 3, "final_rate"))
    assert rates(result)[1:] == [0.001] * 2
    assert saved_state(result)["schedule_passes"] == 2


def test_a_resumed_run_keeps_the_interval_of_its_moving_average(trainer):
    """Of 10 updates each enters the average, of 500 every eighth; in version 0.1 every eighth of any number."""
    one = trainer(passes=1, ema=0.9)
    assert one.optimizer.averaged_every == 1
    one._save()
    resumed = trainer(passes=50, ema=0.9)
    assert resumed.optimizer.averaged_every == resumed.state.averaged_every == 1
    resumed.state.step, resumed.state.validated_step = 2, 1
    assert weights_have_changed(resumed.state, resumed.config)
    (path,) = one.prepared.run.checkpoints()
    arrays = load_arrays(path)
    state = json.loads(str(arrays["place"]))
    del state["averaged_every"]  # as version 0.1 wrote it
    one.prepared.run.save_checkpoint(int(path.stem), {**arrays, "place": np.array(json.dumps(state))})
    assert trainer(passes=1, ema=0.9).optimizer.averaged_every == 8


def test_a_run_resumed_with_fewer_passes_ends_with_a_validation(corpus, tmp_path, counting, steps):
    counting.signals[steps + 2] = [signal.SIGINT]
    fields = {"validate_every": 10 * steps}
    assert train(config(corpus, tmp_path, **fields)).best is None
    result = train(config(corpus, tmp_path, passes=1, **fields))
    assert result.finished and result.best is not None
    assert weights_of(result.directory / "best.npz") == steps + 2


def test_the_seed_decides_the_weights_and_the_order(corpus, tmp_path, counting):
    def run(name: str, seed: int) -> tuple[bytes, list[Any]]:
        counting.batches.clear()
        arrays = load_arrays(train(config(corpus, tmp_path, name, passes=1, seed=seed)).directory / "best.npz")
        return b"".join(value.tobytes() for value in arrays.values()), list(counting.batches)

    first, again, other = run("a", 1), run("b", 1), run("c", 2)
    assert first == again
    assert first[0] != other[0]
    assert first[1] != other[1]


def test_an_unknown_piece_to_suppress_is_refused_before_training(corpus, tmp_path, counting):
    wanted = replace(config(corpus, tmp_path), search=SearchConfig(suppress=("[no such piece]",)))
    with pytest.raises(NmtError, match=r"search\.suppress: '\[no such piece\]' is no piece"):
        train(wanted)
    assert not counting.batches


def test_accumulation_over_more_batches_than_there_are_is_refused(trainer):
    with pytest.raises(TrainingError, match=r"training.accumulate is 9999, but all epochs together have about \d+ bat"):
        trainer(accumulate=9999)


def test_the_run_saves_the_precision_that_auto_chose(corpus, tmp_path, counting):
    result = train(config(corpus, tmp_path, passes=1, precision="auto"))
    saved = Run.open(result.directory).config.training.precision
    assert saved == decide_precision("auto") != "auto"


class LateLoss:
    """The scalar of a device that notes when it is read."""

    def __init__(self, value: float, read: list[float]) -> None:
        self.value, self.read = value, read

    def __float__(self) -> float:
        self.read.append(self.value)
        return self.value


@pytest.mark.parametrize("nan", [False, True])
def test_the_loss_of_a_step_is_read_when_the_next_step_has_begun(nan, corpus, tmp_path, monkeypatch, counting):
    """The history still has every loss, and the message of a NaN still names its step."""
    begun: list[tuple[int, int]] = []
    read: list[float] = []

    class Late(CountingStep):
        def __call__(self, *arguments: Any) -> Any:
            plain = super().__call__(*arguments)

            def step(batch: Batch) -> LateLoss:
                plain(batch)
                begun.append((len(self.batches), len(read)))
                number = len(self.batches)
                return LateLoss(math.nan if nan and number == 13 else float(number), read)

            return step

    monkeypatch.setattr("nmt.training.trainer.TrainStep", Late({}))
    settings = config(corpus, tmp_path, passes=2, log_every=1000, checkpoints={"every": 4})
    if nan:
        with pytest.raises(TrainingError, match="^step 13: the loss is nan"):
            train(settings)
        assert Run.open(tmp_path / "run").checkpoints()[-1].name == "000000012.npz"
        return
    result = train(settings)
    assert [row["train_loss"] for row in history(result)] == ["5.5", "15.5"]
    settled = {4, 8, 10, 12, 16}  # steps with a checkpoint or a validation
    assert begun == [(step, step - 1 if step - 1 in settled | {0} else step - 2) for step in range(1, 21)]


def first_batch(trainer: Trainer) -> Batch:
    return trainer.prepared.train.batch(next(trainer.plan.batches(0)))


def momentum_norm(trainer: Trainer) -> float:
    """Norm of Adam's first moments: after one step 0.1 times the norm of the gradient."""
    moments = [v.value for v in trainer.optimizer.variables if "momentum" in v.path]
    return math.sqrt(sum(float(np.square(np.asarray(m)).sum()) for m in moments))


@pytest.mark.slow
def test_gradients_are_clipped_to_their_global_norm(trainer):
    norms = {}
    for clip_norm in (0.0, 0.01, 1e6):
        one = trainer(f"clip {clip_norm}", clip_norm=clip_norm)
        one._step(first_batch(one))
        norms[clip_norm] = momentum_norm(one)
    assert norms[0.01] == pytest.approx(0.001, rel=1e-3)
    assert norms[0.0] > 0.01
    assert norms[1e6] == pytest.approx(norms[0.0], rel=1e-4)


def test_speed_and_time_left_come_from_the_last_steps(trainer):
    """The machine slept for most of the first hour, which does not count."""
    one = trainer()
    one.state.batches, total = 11, one.steps_per_epoch * one.config.passes
    for one.state.step, one.state.tokens, one.state.seconds in ((10, 1000, 3600.0), (11, 1200, 3601.0)):
        one.speed.note(one.state)
        assert one._line().endswith("compiled") == (one.state.step == 10)
    assert f"200 tokens/s  {duration(total - 11)} left" in one._line()
    one.speed.validation_seconds = 60.0  # each validation to come adds as much
    passes = one.config.passes - 11 // one.steps_per_epoch
    for every, left in ((0, passes), (total - 1, 2), (10, -(-total // 10) - 1)):
        one.speed.config = replace(one.config, validate_every=every)
        assert f"200 tokens/s  {duration(total - 11 + 60 * left)} left" in one._line()


def test_tensorboard_events_hold_the_history_and_the_alignment(corpus, tmp_path, counting):
    result = train(config(corpus, tmp_path, passes=1))
    written = b"".join(path.read_bytes() for path in (result.directory / "tensorboard").iterdir())
    for name in (b"validation_bleu", b"train_loss", b"alignment", b"\x89PNG"):
        assert name in written
