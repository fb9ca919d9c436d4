"""Checkpoints and history of a run: the newest checkpoints are kept, and rows are read as they were written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nmt.config import CheckpointConfig, RunConfig, TrainingConfig
from nmt.run.arrays import load_arrays
from nmt.run.directory import Run
from nmt.run.errors import RunError


@pytest.mark.parametrize("keep", [1, 2, 5])
def test_exactly_the_newest_checkpoints_are_kept(keep, tmp_path, tokenizer):
    training = TrainingConfig()
    training = replace(training, checkpoints=replace(training.checkpoints, keep=keep))
    run = Run.create(tmp_path, RunConfig(training=training), tokenizer, tokenizer)
    for step in (8, 9, 10, 99, 100, 1_000_000):
        run.save_checkpoint(step, {"step": np.array(step)})
    kept = [int(load_arrays(path)["step"]) for path in run.checkpoints()]
    assert kept == [8, 9, 10, 99, 100, 1_000_000][-keep:]


def test_a_half_written_file_is_no_checkpoint(run):
    run.save_checkpoint(5, {"step": np.array(5)})
    (run.directory / "checkpoints" / "000000006.npz.part").write_bytes(b"half")
    assert [path.name for path in run.checkpoints()] == ["000000005.npz"]


def test_a_file_of_macos_is_no_checkpoint(run):
    """macOS writes ._NAME beside a file if the disk cannot hold the file's attributes."""
    run.save_checkpoint(3, {"a": np.zeros(2)})
    (path,) = run.checkpoints()
    (path.parent / f"._{path.name}").write_bytes(b"attributes")
    assert run.checkpoints() == [path]


@pytest.mark.parametrize("prefix", ["", "000{index}/"])
def test_the_mean_of_checkpoints_is_by_name(run, prefix):
    """The names of version 0.1 begin with the index of the variable, which another checkpoint may count differently."""
    run = replace(run, config=RunConfig(training=replace(TrainingConfig(), checkpoints=CheckpointConfig(keep=3))))
    for step, names in ((1, ("x", "a", "b")), (2, ("b", "a")), (3, ("a", "b"))):
        arrays = {
            prefix.format(index=i) + name: np.full(2, step * {"a": 1.0, "b": 10.0, "x": 0.0}[name])
            for i, name in enumerate(names)
        }
        run.save_checkpoint(step, arrays)
    mean = run.averaged_checkpoints(2, ["b", "a"])
    assert {name: array.tolist() for name, array in mean.items()} == {"b": [25.0, 25.0], "a": [2.5, 2.5]}
    with pytest.raises(
        RunError, match=r"run keeps 3 checkpoints, 4 are needed: train with training\.checkpoints\.keep 4"
    ):
        run.averaged_checkpoints(4, ["a"])
    with pytest.raises(RunError, match=r"000000002\.npz: has no array x, so it belongs to another model than config"):
        run.averaged_checkpoints(3, ["a", "x"])


def test_the_mean_of_all_weights_has_those_of_the_model_alone(run):
    run.save_checkpoint(1, {"seq2seq/a": np.ones(2), "adam/seq2seq_a_momentum": np.zeros(2), "place": np.array("{}")})
    assert [*run.averaged_checkpoints(1)] == ["seq2seq/a"]
    run.save_checkpoint(2, {"place": np.array("{}")})
    with pytest.raises(RunError, match=r"000000002\.npz: has no weights of a model"):
        run.averaged_checkpoints(1)


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "step;loss\n1;2\n", "step,loss\none,2\n", "step\n\n,1\n", "\xff\n"])
def test_a_history_in_another_format_is_refused(text, run):
    (run.directory / "history.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(RunError, match=r"history.csv: expected the format that training writes"):
        run.read_history()


def test_rows_of_the_history_return_and_stay_equal_when_written_again(run):
    assert run.read_history() == []
    run.write_history([{"step": 1, "loss": 0.1}, {"step": 2, "loss": 1e-5}])
    rows = run.read_history()
    assert rows == [{"step": "1", "loss": "0.1"}, {"step": "2", "loss": "1e-05"}]
    before = (run.directory / "history.csv").read_bytes()
    run.write_history(rows)
    assert (run.directory / "history.csv").read_bytes() == before
