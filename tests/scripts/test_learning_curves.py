"""The script that draws the learning curves of runs over each other."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

import learning_curves
from common import running
from nmt.config import RunConfig, TrainingConfig, VocabularyConfig
from nmt.run.directory import Run
from nmt.text.tokenizer import Tokenizer

ROWS = [(100, 3.0, 10.0, 60), (200, 1.5, 32.5, 120), (300, 1.75, 31.0, 210)]


@pytest.fixture
def make_run(tmp_path):
    tokenizer = Tokenizer.train(["ein haus und ein baum"] * 3, VocabularyConfig(type="word", size=8))

    def make(name: str, precision: str, rows=ROWS) -> Path:
        config = RunConfig(name=name, training=TrainingConfig(precision=precision))
        run = Run.create(tmp_path / name, config, tokenizer, tokenizer)
        names = ("step", "validation_loss", "validation_bleu", "seconds")
        run.write_history([dict(zip(names, row, strict=True)) for row in rows])
        return run.directory

    return make


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Runs the script; gives its exit code."""

    def run(*arguments: object) -> int:
        command = ["learning_curves.py", *map(str, arguments), "--output", str(tmp_path / "out")]
        monkeypatch.setattr(sys, "argv", command)
        return running.ended(learning_curves.main)

    return run


def test_each_run_is_told_with_its_best_and_drawn(make_run, drawn, tmp_path, capsys) -> None:
    runs = make_run("one", "float32"), make_run("two", "mixed_bfloat16", ROWS[:1])
    assert drawn("--runs", *runs, "--names", "before", "now") == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows == [
        "| before | float32 | 300 | 3.5 | 1.5000 | 200 | 32.50 |",
        "| now | mixed_bfloat16 | 100 | 1.0 | 3.0000 | 100 | 10.00 |",
    ]
    with open(tmp_path / "out" / "points.csv", encoding="utf-8", newline="") as file:
        points = list(csv.DictReader(file))
    assert [(point["run"], point["step"], point["minutes"]) for point in points][1:] == [
        ("before", "200", "2.0"),
        ("before", "300", "3.5"),
        ("now", "100", "1.0"),
    ]
    assert (tmp_path / "out" / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_curves_go_through_the_validations(make_run) -> None:
    curves = {name: learning_curves.read(make_run(name, "float32"), name) for name in ("one", "two")}
    loss, _, _, bleu = learning_curves.draw(curves).axes
    assert [line.get_label() for line in loss.get_lines()] == ["one", "two"]
    assert loss.get_lines()[0].get_xydata().tolist() == [[100, 3.0], [200, 1.5], [300, 1.75]]
    assert bleu.get_lines()[1].get_xydata().tolist() == [[1.0, 10.0], [2.0, 32.5], [3.5, 31.0]]


def test_what_cannot_be_drawn_is_one_line(make_run, drawn, tmp_path, capsys) -> None:
    assert drawn("--runs", tmp_path / "nothing") == 2
    assert "not a run directory" in capsys.readouterr().err
    assert drawn("--runs", make_run("new", "float32", [])) == 2
    assert "no validation in history.csv yet" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        drawn("--runs", make_run("a", "float32"), tmp_path / "a")
    assert "a name for each run" in capsys.readouterr().err
