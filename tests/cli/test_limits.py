"""Commands on a machine that has too little: a full disk for the messages, memory within a limit."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import commands
import copy_task
import pytest

from nmt.run.directory import Run

LIMIT = 6_000_000
"""KiB of address space: enough for TensorFlow and a small model."""
WORDS = 100_000


def shell(line: str, directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a line of the shell, in which `"$0" "$@"` is the `nmt` command with these words."""
    command = ["sh", "-c", line, sys.executable, "-m", "nmt", *words]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, env=commands.environment())


@pytest.mark.slow
def test_a_training_goes_on_while_its_messages_cannot_be_written(tmp_path: Path) -> None:
    copy_task.write_corpus(tmp_path, train=60, validation=6)
    sizes = {"units": 8, "embedding": 8, "attention": {"units": 8}}
    fields = copy_task.merged(copy_task.fields(Path(".")), {"model": sizes, "training": {"passes": 2, "log_every": 1}})
    (tmp_path / "config.yaml").write_text(json.dumps(fields | {"name": "run", "directory": "."}))
    ended = shell('exec "$0" "$@" 2>/dev/full', tmp_path, "train", "--config", "config.yaml")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    run = Run.open(tmp_path / "run")
    assert [row["pass"] for row in run.read_history()] == ["1", "2"]
    assert run.has_weights


@pytest.fixture(scope="module")
def long_pair(make_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pair of `WORDS` words, a run that cuts long sources off, and one that takes them whole."""
    place = tmp_path_factory.mktemp("long")
    for name, words in (("source", "ba be bi bo "), ("target", "ka ke ki bu ")):
        (place / name).write_text(words * (WORDS // 4) + "\n")
    make_run(place / "cutting")
    shutil.copytree(place / "cutting", place / "taking")
    content = json.loads((place / "taking" / "config.json").read_text())
    content["search"]["max_source"] = 2 * WORDS
    (place / "taking" / "config.json").write_text(json.dumps(content))
    (place / "taking" / "manifest.json").unlink(missing_ok=True)
    return place


COMMANDS = {
    "score": "--target target --output scores",
    "align": "--target target --output alignments --limit 0",
    "explain": "--target target --output report --limit 0",
    "translate": "--output translations",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_sentence_of_a_hundred_thousand_words_within_a_limit_of_memory(name: str, long_pair: Path) -> None:
    """Cut off, it has an answer. Whole, its attention weights would need 40 GB: one line says so."""
    files = ["--source", "source", *COMMANDS[name].split()]
    line = f'ulimit -v {LIMIT}; exec "$0" "$@"'
    ended = shell(line, long_pair, name, "--model", "cutting", *files)
    assert ended.returncode == 0, ended.stderr
    assert "its end was cut off" in ended.stderr
    ended = shell(line, long_pair, name, "--model", "taking", *files)
    assert ended.returncode == 2, ended.stderr
    errors = [line for line in ended.stderr.splitlines() if not line.startswith("nmt: ") or "error: " in line]
    assert len(errors) == 1 and errors[0].startswith("nmt: error: not enough memory: "), ended.stderr
