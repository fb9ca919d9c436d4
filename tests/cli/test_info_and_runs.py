"""`nmt info` and `nmt runs`: runs described from their files, without Keras."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest

from nmt.cli import main
from nmt.cli.info import file_size
from nmt.config import RunConfig, TrainingConfig, VocabularyConfig
from nmt.run.directory import ALIGNER, Run
from nmt.run.packing import write_pack
from nmt.text.tokenizer import Tokenizer
from nmt.training.run_summary import RunSummary, find_runs
from nmt.training.state import STATE, TrainingState

ROWS = [
    {"pass": 1, "step": 10, "validation_loss": 3.5, "validation_bleu": 1.25},
    {"pass": 2, "step": 20, "validation_loss": 3.25, "validation_bleu": 0.5},
]


@pytest.fixture
def run(tmp_path, monkeypatch) -> Run:
    """A run in training: two of three epochs, one checkpoint, three training pairs."""
    monkeypatch.chdir(tmp_path)
    config = replace(RunConfig(), name="one", training=TrainingConfig(passes=3))
    pieces = Tokenizer.train(["ein haus und ein baum"] * 3, VocabularyConfig(type="word", size=8))
    run = Run.create(Path("saved_models/one"), config, pieces, pieces)
    run.write_history(ROWS)
    add_checkpoint(run, TrainingState(pass_index=2, step=20, seconds=75.0))
    (run.directory / "corpus").mkdir()
    np.array([2, 3, 4], np.int32).tofile(run.directory / "corpus" / "source.lengths")
    return run


def add_checkpoint(run: Run, state: TrainingState) -> None:
    run.save_checkpoint(state.step, {STATE: np.array(json.dumps(asdict(state)))})


def test_a_size_has_the_unit_that_its_reader_expects():
    sizes = [1, 1000, 1024, 3 * 2**19, 5 * 2**30]
    assert [file_size(size) for size in sizes] == ["1 byte", "1,000 bytes", "1 KiB", "1.5 MiB", "5.0 GiB"]


def test_info_says_what_the_files_say(run, capsys):
    run.save_weights({"a/kernel": np.zeros((3, 4)), "a/bias": np.zeros(4)})
    assert main(["info", "saved_models/one"]) == 0
    printed = capsys.readouterr().out
    for fact in (
        "3 training pairs",
        f"{run.source.size} shared",
        "16 parameters",
        "unfinished",
        "2 of 3 epochs, 20 steps",
        "1:15 in steps",
        "BLEU 1.25, loss 3.2500 nats per piece",
        "training text",
        "\n  training.passes: 3\n",
    ):
        assert fact in printed, fact
    assert "model.units" not in printed  # it has its default
    assert "\nlinks       made by attention\n" in printed
    (run.directory / ALIGNER).touch()
    assert main(["info", "saved_models/one"]) == 0
    assert "\nlinks       made by the aligner that the run keeps\n" in capsys.readouterr().out


def test_a_pack_is_described_too(run, capsys):
    run.save_weights({"a/kernel": np.zeros((3, 4))})
    write_pack(run, Path("one.nmt"), 0, "")
    assert main(["info", "one.nmt"]) == 0
    printed = capsys.readouterr().out
    assert "12 parameters" in printed and "a pack, which has no training to resume" in printed
    assert RunSummary.of(Path("one.nmt")).sizes == {"pack": Path("one.nmt").stat().st_size}


@pytest.mark.parametrize(
    ("state", "progress"),
    [
        (TrainingState(pass_index=3, step=30), "finished"),
        (TrainingState(pass_index=2, step=30, stopped_early=True), "finished early"),
        (TrainingState(pass_index=2, step=30), "unfinished"),
    ],
)
def test_the_newest_checkpoint_says_how_far_the_training_is(run, state, progress):
    add_checkpoint(run, state)
    assert RunSummary.of(run.directory).progress == progress


def test_missing_and_damaged_files_leave_gaps(run):
    for path in run.checkpoints():
        path.write_bytes(b"damaged")
    (run.directory / "history.csv").write_text("step,validation_loss,validation_bleu\n10,hello,nan\n")
    summary = RunSummary.of(run.directory)
    assert (summary.state, summary.best_bleu, summary.best_loss, summary.parameters) == (None, None, None, None)
    assert summary.progress == "not trained yet"


def test_sizes_add_up_to_all_files(run):
    files = [path for path in run.directory.rglob("*") if path.is_file()]
    summary = RunSummary.of(run.directory)
    assert summary.size == sum(path.stat().st_size for path in files)
    assert summary.sizes["training text"] == 12


def test_runs_lists_every_run_below_a_directory(run, capsys):
    other = replace(run, directory=Path("saved_models/group/two"))
    Run.create(other.directory, run.config, run.source, run.target)
    Path("saved_models/broken").mkdir()
    Path("saved_models/broken/config.json").write_text("{")
    Path("saved_models/circle").symlink_to(".")
    assert [str(path) for path in find_runs(Path("saved_models"), pytest.fail)] == [
        "saved_models/broken",
        "saved_models/group/two",
        "saved_models/one",
    ]
    run.save_weights({"a/kernel": np.zeros((3, 4))})
    write_pack(run, Path("saved_models/group/gift.nmt"), 0, "")
    assert main(["runs"]) == 0
    output = capsys.readouterr()
    header, gift, two, one = output.out.splitlines()
    assert header.split()[:3] == ["run", "languages", "network"]
    assert gift.split()[:4] == ["group/gift.nmt", "-", "rnn", "12"]
    assert "a pack, which has no training to resume" in gift
    assert two.startswith("group/two") and "not trained yet" in two
    assert one.split()[:7] == ["one", "-", "rnn", "12", "20", "1.25", "3.2500"]
    assert "saved_models/broken/config.json: cannot be read" in output.err


def test_folders_that_cannot_be_read_and_files_that_vanish_are_left_out(run, capsys, monkeypatch):
    for folder in ("saved_models/closed", "saved_models/one/tensorboard"):
        Path(folder).mkdir()
    gone = run.directory / "history.png"
    gone.touch()
    scandir, stat = os.scandir, Path.stat

    def scanned(path: Any = "."):
        if Path(path).name in ("closed", "tensorboard"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    def status(path: Path, **options: Any) -> os.stat_result:
        found = stat(path, **options)
        if path == gone:
            path.unlink()  # after a look at it
        return found

    monkeypatch.setattr("os.scandir", scanned)
    monkeypatch.setattr(Path, "stat", status)
    assert main(["runs"]) == 0
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == 2
    assert output.err == "nmt: saved_models/closed: Permission denied\n"
    gone.touch()
    assert main(["info", "saved_models/one"]) == 0


def test_a_directory_without_runs_and_no_directory(tmp_path, capsys):
    assert main(["runs", str(tmp_path)]) == 0
    assert f"{tmp_path}: no runs" in capsys.readouterr().err
    assert main(["runs", str(tmp_path / "none")]) == 2
    assert "none: no such directory; nmt train makes saved_models" in capsys.readouterr().err
    assert main(["info", str(tmp_path / "none")]) == 2
    assert "none: no such run directory" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["info saved_models/one", "runs", "--version"])
def test_neither_keras_nor_tensorflow_is_loaded(command, run, tmp_path):
    ended = commands.run(["-X", "importtime", "-m", "nmt", *command.split()], tmp_path)
    imported = {row.split("|")[-1].strip() for row in ended.stderr.splitlines()}
    assert ended.returncode == 0 and ended.stdout
    assert "nmt.cli.commands" in imported and not imported & {"keras", "tensorflow"}


def test_the_versions_that_matter(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert all(f"{name} " in printed for name in ("nmt", "Python", "keras", "tensorflow", "sentencepiece"))
    assert printed.count("\n") == 1
