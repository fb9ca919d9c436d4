"""`nmt curves`: the learning curves of several runs in one table and one drawing."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from nmt.cli import main
from nmt.config import RunConfig, TrainingConfig, VocabularyConfig
from nmt.run.directory import Run
from nmt.text.tokenizer import Tokenizer
from nmt.training.curves import draw_curves, read_curve

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
def curves(tmp_path):
    """Runs `nmt curves`; returns its exit code."""

    def run(*arguments: object) -> int:
        return main(["curves", *map(str, arguments), "--output", str(tmp_path / "out")])

    return run


def test_the_table_has_the_best_values_of_each_run(make_run, curves, tmp_path, capsys) -> None:
    runs = make_run("one", "float32"), make_run("two", "mixed_bfloat16", ROWS[:1])
    assert curves("--runs", *runs, "--names", "before", "now") == 0
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


def test_names_are_drawn_and_written_as_they_are(make_run, curves, tmp_path, capsys) -> None:
    """`$` is no formula, a leading `_` hides no name, and a bar begins no cell."""
    runs = make_run("one", "float32"), make_run("two", "float32")
    names = ["a | $x_{$", "_base"]
    assert curves("--runs", *runs, "--names", *names) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith(r"| a \| $x_{$ | float32 |")
    figure = draw_curves({name: read_curve(run, name) for name, run in zip(names, runs, strict=True)})
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == names


def test_curves_pass_through_the_validations(make_run) -> None:
    points = {name: read_curve(make_run(name, "float32"), name) for name in ("one", "two")}
    figure = draw_curves(points)
    loss, _, _, bleu = figure.axes
    assert len(loss.get_lines()) == 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "two"]
    assert loss.get_lines()[0].get_xydata().tolist() == [[100, 3.0], [200, 1.5], [300, 1.75]]
    assert bleu.get_lines()[1].get_xydata().tolist() == [[1.0, 10.0], [2.0, 32.5], [3.5, 31.0]]


def test_a_row_without_one_of_the_values_is_no_point(make_run) -> None:
    run = make_run("cut", "float32", [(100, 3.0, 10.0, ""), *ROWS[1:]])
    assert [point.step for point in read_curve(run, "cut")] == [200, 300]


def test_after_a_write_error_the_old_table_stays(make_run, curves, tmp_path, monkeypatch, capsys) -> None:
    run = make_run("one", "float32")
    assert curves("--runs", run) == 0
    before = (tmp_path / "out" / "table.md").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "table.md")

    monkeypatch.setattr("nmt.files.atomic_writing.os.replace", full)
    assert curves("--runs", run, "--names", "other") == 2
    assert "No space left on device" in capsys.readouterr().err
    assert (tmp_path / "out" / "table.md").read_bytes() == before


def test_mistakes_are_one_line(make_run, curves, tmp_path, capsys) -> None:
    assert curves("--runs", tmp_path / "nothing") == 2
    assert "no such run directory" in capsys.readouterr().err
    assert curves("--runs", make_run("new", "float32", [])) == 2
    assert "no validation in history.csv yet" in capsys.readouterr().err
    assert curves("--runs", make_run("a", "float32"), tmp_path / "a") == 2
    assert "one name per run" in capsys.readouterr().err
    assert curves("--runs", *[tmp_path / str(number) for number in range(8)]) == 2
    assert capsys.readouterr().err == "nmt: error: --runs takes at most 7: more curves look alike\n"
