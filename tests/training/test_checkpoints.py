"""Checkpoints: when they are saved, and which are refused."""

from __future__ import annotations

import math

import pytest
from short_runs import config, weights_of

from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.training.errors import TrainingError
from nmt.training.trainer import train


@pytest.mark.parametrize("keep", [1, 3])
def test_checkpoints_come_between_validations_too(keep, corpus, tmp_path, counting, steps):
    result = train(config(corpus, tmp_path, passes=1, checkpoints={"every": 4, "keep": keep}))
    expected = sorted({*range(4, steps + 1, 4), steps})[-keep:]
    checkpoints = Run.open(result.directory).checkpoints()
    assert [int(path.stem) for path in checkpoints] == expected
    assert [weights_of(path) for path in checkpoints] == expected


def test_the_message_names_a_damaged_checkpoint_and_what_follows_its_deletion(corpus, tmp_path, counting):
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
