"""Checkpoints and history of a run: the newest checkpoints are kept, and rows are read as they were written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nmt.config import CheckpointConfig, RunConfig, TrainingConfig
from nmt.run.arrays import load_arrays, save_arrays
from nmt.run.checkpoints import load_checkpoint, save_checkpoint
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.history import history_numbers, validation_quality


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
        RunError, match=r"run keeps 3 checkpoints, 4 are needed: train with --training\.checkpoints\.keep 4"
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


def test_a_checkpoint_belongs_to_its_run(tmp_path):
    """A checkpoint without an identity, and a reader without one, go with every run."""
    for name in ("mine", ""):
        save_checkpoint(tmp_path / "checkpoints", 1, {"a": np.ones(2)}, 1, name)
        (path,) = (tmp_path / "checkpoints").iterdir()
        for reader in ("mine", ""):
            assert load_checkpoint(path, reader)["a"].tolist() == [1, 1]
        if name:
            with pytest.raises(RunError, match="npz: belongs to another run$"):
                load_checkpoint(path, "another")
        else:
            assert load_checkpoint(path, "another")["a"].tolist() == [1, 1]


def test_a_checkpoint_without_sums_belongs_to_a_run_without_an_identity(tmp_path):
    path = tmp_path / "checkpoints" / "000000001.npz"
    save_arrays(path, {"a": np.ones(2)})
    assert load_checkpoint(path)["a"].tolist() == [1, 1]
    with pytest.raises(RunError, match="npz: damaged, its sums are missing$"):
        load_checkpoint(path, "mine")


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        (b"{", "its sums cannot be read"),
        (b"[]", "its sums cannot be read"),
        (b'{"run": "mine"}', "its sums cannot be read"),
        (b'{"run": "mine", "sha256": "0"}', "its content differs from its sum"),
    ],
)
def test_other_sums_are_damage(comment, message, tmp_path):
    path = tmp_path / "checkpoints" / "000000001.npz"
    save_arrays(path, {"a": np.ones(2)})
    path.write_bytes(path.read_bytes()[:-2] + len(comment).to_bytes(2, "little") + comment)
    with pytest.raises(RunError, match=f"npz: damaged, {message}$"):
        load_checkpoint(path, "mine")


def test_a_checkpoint_that_is_gone_is_named(run):
    with pytest.raises(RunError, match=r"000000001\.npz: no such file$"):
        run.load_checkpoint(run.directory / "checkpoints" / "000000001.npz")


def test_a_moved_history_gets_the_first_free_name(run):
    for number in (1, 2):
        run.write_history([{"step": number}])
        assert run.move_history_aside() == run.directory / f"history.{number}.csv"
    assert run.read_history() == []
    assert (run.directory / "history.2.csv").read_text() == "step\n2\n"


def test_rows_of_the_history_have_the_columns_of_all(run):
    run.write_history([{"step": 1}, {"step": 2, "loss": 0.5}])
    assert run.read_history() == [{"step": "1", "loss": ""}, {"step": "2", "loss": "0.5"}]


def test_a_row_of_the_history_with_more_cells_or_another_step_is_refused(run):
    path = run.directory / "history.csv"
    for text in ("step,loss\n1,2,3\n", "step\n-1\n", f"step\n{'1' * 19}\n", "loss\n1\n"):
        path.write_text(text)
        with pytest.raises(RunError, match="expected the format that training writes"):
            run.read_history()
    path.write_text(f"step,loss\n{'1' * 18}\n")
    assert run.read_history() == [{"step": "1" * 18, "loss": ""}]


def test_numbers_of_the_history_are_all_there_or_none():
    row = {"step": "2", "loss": "0.5", "bleu": ""}
    assert history_numbers(row, "step", "loss") == [2.0, 0.5]
    assert history_numbers(row, "step", "bleu") is None and history_numbers(row, "aer") is None


def test_a_smaller_loss_and_a_greater_score_rank_higher():
    assert validation_quality("loss", 9, 1.0) > validation_quality("loss", 99, 1.1)
    assert validation_quality("bleu", 30.02, 9.0) > validation_quality("bleu", 30.01, 1.0)
    assert validation_quality("bleu", 30.001, 1.0) > validation_quality("bleu", 30.004, 1.1)
