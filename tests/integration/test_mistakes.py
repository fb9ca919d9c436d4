"""Users' mistakes: exit code 2, one line with the cause and the place, and no half-written files."""

from __future__ import annotations

import copy_task
import pytest
from commands import contents, run

from nmt.cli import main


@pytest.fixture
def place(tmp_path, playground, monkeypatch):
    """A working directory with a model and wrong files."""
    monkeypatch.chdir(tmp_path)
    copy_task.write_corpus(tmp_path, train=50, validation=5)
    (tmp_path / "bad").write_bytes(b"ba\nki\n\xff\n")
    (tmp_path / "two").write_text("ba\nki\n")
    (tmp_path / "none").touch()
    (tmp_path / "folder").mkdir()
    for name, keep in (("model", None), ("cut", 1000), ("untrained", 0)):
        (tmp_path / name).mkdir()
        for path in (playground / "runs" / "copy").glob("*.*"):
            content = path.read_bytes()
            if path.name == "best.npz" and keep is not None:
                content = content[:keep]
            (tmp_path / name / path.name).write_bytes(content)
    (tmp_path / "untrained" / "best.npz").unlink()
    return tmp_path


MISTAKES = [
    ("translate --model nowhere --input two --output new", "nowhere: no such run directory"),
    ("translate --model folder --input two --output new", "folder: not a run directory, it has no config.json"),
    ("translate --model untrained --input two --output new", "untrained has no best.npz yet, which training saves"),
    ("translate --model cut --input two --output new", "cut/best.npz: damaged or changed, because it differs"),
    ("translate --model model --input nowhere --output new", "nowhere: No such file or directory"),
    ("translate --model model --input bad --output new", "bad, line 3: not valid UTF-8"),
    ("align --model cut --source two --output new", "cut/best.npz: damaged"),
    ("align --model model --source bad --output new", "bad, line 3: not valid UTF-8"),
    ("align --model model --source two --target bad --output new", "bad, line 3: not valid UTF-8"),
    ("align --model model --source two --target train.target --output new", "two has 2, train.target has 50"),
    ("evaluate --model model --source two --reference train.target --output new", "two has 2, train.target"),
    ("evaluate --model cut --source two --reference two --output new", "cut/best.npz: damaged"),
    ("evaluate --model model --source none --reference none --output new", "none: is empty: expected one sentence"),
    ("tune --model model --source none --reference none", "none: is empty: expected one sentence"),
    ("translate --model model --input two --output new --beam-size 1001", "--beam-size is 1001: expected 1,000"),
    ("align --model model --source two --links shares --threshold 2 --output new", "--threshold is 2.0: expected more"),
    ("train --name new", "no sentence pairs are given"),
    ("train --name new --corpus.train.source two", "corpus.train.source and target go together"),
    ("train --name new --corpus.train.source nowhere --corpus.train.target two", "nowhere: No such file"),
    ("train --name new --corpus.train.source bad --corpus.train.target bad", "bad, line 3: not valid UTF-8"),
    ("train --name new --corpus.train.source two --corpus.train.target train.target", "two has 2 lines, train.target"),
    ("train --name new --corpus.train.source two --corpus.train.target two", "2 different sources; hold out fewer"),
    ("train --name new --corpus.train.source none --corpus.train.target none", "none and none: there are no sentence"),
    ("train --name new --model.units 7", "model.units is 7: expected an even number"),
    ("train --name new --training.schedule.learning_rate 0", "training.schedule.learning_rate is 0.0: expected more"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "message"), MISTAKES)
def test_a_mistake_is_one_line(command, message, place, capfd):
    before = contents(place)
    folder = ["--directory", "."] if command.startswith("train") else []
    assert main([*command.split(), *folder]) == 2
    output = capfd.readouterr()
    assert output.out == ""
    *reports, error = output.err.splitlines()
    assert error.startswith("nmt: error: ") and message in error
    assert all(line.startswith("nmt: languages: ") for line in reports)  # which training decides first
    assert contents(place) == before
    assert not (place / "new").exists()


@pytest.mark.slow
def test_the_error_about_a_large_vocabulary_names_the_largest_size(place, capfd):
    pairs = ["--corpus.train.source", "train.source", "--corpus.train.target", "train.target", "--corpus.held_out", "5"]
    command = ["train", "--name", "new", "--directory", ".", *pairs]
    assert main(command) == 2
    said = capfd.readouterr().err
    assert "nmt: error: 8000 pieces are more than this text allows: set --vocabulary.size" in said
    assert not (place / "new").exists()
    largest = said.split("and at most ")[1].strip()
    small = ["--model.units", "8", "--model.embedding", "8", "--model.attention.units", "8", "--training.passes", "1"]
    assert main([*command, "--vocabulary.size", largest, *small]) == 0


@pytest.mark.slow
def test_an_invalid_line_on_standard_input_is_named(place):
    result = run(["-m", "nmt", "translate", "--model", "model"], place, "ba\nki\n\udcff\n")
    assert result.returncode == 2
    lines = result.stderr.splitlines()
    assert lines[-1].startswith("nmt: error: standard input, line 3: not valid UTF-8")
    assert all(line.startswith("nmt: ") for line in lines)  # the import of TensorFlow is silent too


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--model.units 16", "model.units = 32, now it is 16"),
        ("--corpus.train.source other", "corpus.train.source = "),
        ("--vocabulary.size 50", "vocabulary.size = 60, now it is 50"),
        ("--training.seed 2", "training.seed = 1, now it is 2"),
    ],
)
def test_a_finished_run_refuses_other_settings(flags, message, playground, capfd):
    before = contents(playground / "runs")
    assert main(["train", "--config", str(playground / "config.yaml"), *flags.split()]) == 2
    assert f"runs/copy was begun with {message}" in capfd.readouterr().err
    assert contents(playground / "runs") == before
