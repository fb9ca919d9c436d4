"""Checkpoints: when they are saved, and which are refused."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import pytest
from short_runs import config, weights_of

from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.training.errors import TrainingError
from nmt.training.state import TrainingState
from nmt.training.trainer import train


@pytest.mark.parametrize("keep", [1, 3])
def test_checkpoints_come_between_validations_too(keep, corpus, tmp_path, counting, steps):
    result = train(config(corpus, tmp_path, passes=1, checkpoints={"every": 4, "keep": keep}))
    expected = sorted({*range(4, steps + 1, 4), steps})[-keep:]
    checkpoints = Run.open(result.directory).checkpoints()
    assert [int(path.stem) for path in checkpoints] == expected
    assert [weights_of(path) for path in checkpoints] == expected


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_continues(corpus, tmp_path, counting, capsys):
    result = train(config(corpus, tmp_path, passes=2, checkpoints={"keep": 2}))
    older, newest = Run.open(result.directory).checkpoints()
    newest.write_bytes(newest.read_bytes()[:1000])
    counting.batches.clear()
    assert train(config(corpus, tmp_path, passes=2, checkpoints={"keep": 2})).steps == 20
    assert len(counting.batches) == 10
    lines = [line for line in capsys.readouterr().err.splitlines() if ": damaged" in line]
    assert len(lines) == 1
    assert lines[0].startswith(f"nmt: {newest}: damaged")
    assert lines[0].endswith(
        f"moved to {newest.stem}.damaged; training resumes from {older.name}, the checkpoint before it"
    )
    assert [path.name for path in Run.open(result.directory).checkpoints()] == [older.name, newest.name]


def test_the_message_says_what_follows_when_no_checkpoint_is_intact(corpus, tmp_path, counting):
    result = train(config(corpus, tmp_path, passes=1))
    (newest,) = Run.open(result.directory).checkpoints()
    newest.write_bytes(newest.read_bytes()[:1000])
    ending = "and training starts over, because there is no other"
    with pytest.raises(RunError, match=f"{newest}: damaged.*: delete it, {ending}"):
        train(config(corpus, tmp_path, passes=2))
    older = newest.parent / "000000000.npz"
    older.write_bytes(b"")
    all_named = f"{newest}: damaged.*; {older}: .*: they are all damaged: delete them, {ending}"
    with pytest.raises(RunError, match=all_named):
        train(config(corpus, tmp_path, passes=2))
    assert newest.exists() and older.exists()


def test_a_checkpoint_of_another_run_is_refused(corpus, tmp_path, counting):
    paths = []
    for name, seed in (("one", 1), ("two", 2)):
        result = train(config(corpus, tmp_path, name, passes=1, seed=seed))
        paths += Run.open(result.directory).checkpoints()
    paths[0].write_bytes(paths[1].read_bytes())
    with pytest.raises(RunError, match=f"{paths[0]}: belongs to another run"):
        train(config(corpus, tmp_path, "one", passes=2, seed=1))


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_nan_or_infinite_loss_ends_the_training_and_nothing_of_it_is_saved(corpus, tmp_path, counting, loss):
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
def test_nan_weights_are_not_saved(corpus, tmp_path, counting, step, before):
    """The loss of the step is finite, and its update spoils the weights; then comes a validation, or a checkpoint."""
    counting.weights[step] = math.nan
    with pytest.raises(TrainingError, match=rf"^step {step}: weights are NaN or infinite"):
        train(config(corpus, tmp_path, checkpoints={"every": 4}))
    run = Run.open(tmp_path / "run")
    assert run.checkpoints()[-1].name == f"{before:09d}.npz"
    assert run.best.exists() == (before == 10)
    assert weights_of(run.checkpoints()[-1]) == before


def test_a_new_training_state_and_one_of_version_0_1_are_read_back():
    """Before the first validation, and in older checkpoints, there is no best step."""
    assert TrainingState.from_json(json.dumps(asdict(TrainingState()))) == TrainingState()
    assert TrainingState.from_json('{"pass_index": 1, "step": 7, "best": null}') == TrainingState(1, step=7)
    for wrong in (
        '{"averaged_every": 0}',
        '{"step": -1}',
        '{"step": 1.5}',
        '{"stopped_early": 1}',
        '{"seconds": NaN}',
        '{"steps": 1}',
        "[]",
    ):
        with pytest.raises((ValueError, TypeError)):
            TrainingState.from_json(wrong)
