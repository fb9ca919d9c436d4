"""history.csv in training: each step has one row, and no file that another program changed ends a training."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from short_runs import config, history

from nmt.run.directory import Run
from nmt.training.trainer import Trainer, train


def steps_of(result: Any) -> list[int]:
    return [int(row["step"]) for row in history(result)]


def test_a_kill_between_history_and_checkpoint_leaves_no_second_row_of_the_step(
    corpus, tmp_path, counting, steps, monkeypatch
):
    """The last step of an epoch has a checkpoint already when its validation begins."""
    settings = config(corpus, tmp_path, passes=2, checkpoints={"every": steps})
    saved = Trainer._save

    def killed(self: Trainer) -> None:
        if self.state.step == steps and not self.state.batches:  # behind the row of the validation
            raise KeyboardInterrupt
        saved(self)

    monkeypatch.setattr(Trainer, "_save", killed)
    with pytest.raises(KeyboardInterrupt):
        train(settings)
    run = Run.open(tmp_path / "run")
    assert [int(row["step"]) for row in run.read_history()] == [steps]
    assert [int(path.stem) for path in run.checkpoints()] == [steps]
    monkeypatch.setattr(Trainer, "_save", saved)
    assert steps_of(train(settings)) == [steps, 2 * steps]


def test_rows_behind_the_checkpoint_and_second_rows_of_a_step_go(corpus, tmp_path, counting, steps):
    result = train(config(corpus, tmp_path, passes=1))
    (row,) = history(result)
    rows = [row | {"train_loss": "7"}, row, row | {"step": str(steps + 3)}]
    Run.open(result.directory).write_history(rows)
    later = train(config(corpus, tmp_path, passes=2))
    assert steps_of(later) == [steps, 2 * steps]
    assert history(later)[0] == row


def test_columns_that_another_program_cut_stay_away_from_their_rows_only(corpus, tmp_path, counting, steps):
    result = train(config(corpus, tmp_path, passes=1))
    path = result.directory / "history.csv"
    cut = [",".join(line.split(",")[:4]) + "\n" for line in path.read_text().splitlines()]
    path.write_text("".join(cut))
    later = train(config(corpus, tmp_path, passes=2))
    first, second = history(later)
    assert (first["step"], first["learning_rate"]) == (str(steps), "")
    assert second["learning_rate"] != ""
    assert len(Run.open(result.directory).checkpoints()) == 1
    assert later.steps == 2 * steps


@pytest.mark.parametrize(
    "text",
    [
        "step;loss\n1;2\n",
        pytest.param("a,b\n1,2\n", marks=pytest.mark.slow),
        pytest.param("step\n1,2\n", marks=pytest.mark.slow),
        f"step\n{'9' * 5000}\n",
    ],
)
def test_a_history_in_another_format_is_moved_aside_and_training_continues(
    text, corpus, tmp_path, counting, steps, capsys
):
    result = train(config(corpus, tmp_path, passes=1))
    for number in (1, 2):
        (result.directory / "history.csv").write_text(text)
        capsys.readouterr()
        later = train(config(corpus, tmp_path, passes=1 + number))
        aside = result.directory / f"history.{number}.csv"
        assert aside.read_text() == text
        assert f"history.csv: not a table of training any more: moved to {aside.name}; " in capsys.readouterr().err
        assert steps_of(later) == [(1 + number) * steps]


def test_a_history_that_cannot_be_written_costs_no_checkpoint(corpus, tmp_path, counting, steps, capsys, monkeypatch):
    def full(self: Run, rows: list[dict[str, Any]]) -> None:
        if len(rows) == 1:
            raise OSError(28, "No space left on device", str(self.directory / "history.csv"))
        write(self, rows)

    write = Run.write_history
    monkeypatch.setattr(Run, "write_history", full)
    result = train(config(corpus, tmp_path, passes=2))
    assert f"{result.directory / 'history.csv'}: No space left on device; " in capsys.readouterr().err
    assert steps_of(result) == [steps, 2 * steps], "the next validation writes the row"


def test_the_header_of_a_history_has_all_columns(tmp_path: Path):
    from nmt.run.history import read_history, write_history

    path = tmp_path / "history.csv"
    write_history(path, [{"step": 1, "a": 2}, {"step": 2, "b": 3}])
    with open(path, newline="") as file:
        assert next(csv.reader(file)) == ["step", "a", "b"]
    assert read_history(path) == [{"step": "1", "a": "2", "b": ""}, {"step": "2", "a": "", "b": "3"}]
