"""The scripts: the Python ones are the commands, the shell ones make their environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("script", "command"), [("train", "train"), ("translate", "translate"), ("export_alignments", "align")]
)
def test_scripts_are_the_commands(script, command):
    command_line = [sys.executable, f"scripts/{script}.py", "--help"]
    result = subprocess.run(command_line, capture_output=True, text=True, cwd=REPOSITORY)
    assert result.returncode == 0
    assert result.stdout.startswith(f"usage: nmt {command} ")


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A copy of what the shell scripts look at, without an environment."""
    for name in ("setup.cfg", "pyproject.toml", "constraints.txt", "scripts/environment.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((REPOSITORY / name).read_text())
    return tmp_path


def prepare(checkout: Path, interpreter: str) -> subprocess.CompletedProcess[str]:
    command = "set -euo pipefail; source scripts/environment.sh; prepare_environment '[test]'"
    environment = os.environ | {"PYTHON": interpreter}
    return subprocess.run(["bash", "-c", command], cwd=checkout, capture_output=True, text=True, env=environment)


def program(path: Path, body: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_environment_needs_a_python_that_is_new_enough(checkout):
    missing = prepare(checkout, "python-nowhere")
    assert missing.returncode == 2
    assert "no 'python-nowhere' here" in missing.stderr
    old = prepare(checkout, program(checkout / "old", 'test "$1" = --version && echo Python 3.8.1'))
    assert old.returncode == 2
    assert "Python 3.8.1 is too old" in old.stderr
    bare = prepare(checkout, program(checkout / "bare", 'case "$2" in *ensurepip*) exit 1;; esac'))
    assert bare.returncode == 2
    assert "python3-venv" in bare.stderr


def test_environment_is_installed_again_only_when_its_files_change(checkout):
    program(checkout / ".venv/bin/python", 'echo "$@" >> installed')
    for _ in range(2):
        assert prepare(checkout, "python-nowhere").returncode == 0
    assert (checkout / "installed").read_text().count("--editable .[test]") == 1
    (checkout / "constraints.txt").write_text("")
    assert prepare(checkout, "python-nowhere").returncode == 0
    assert (checkout / "installed").read_text().count("--editable .[test]") == 2
