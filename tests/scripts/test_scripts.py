"""The scripts: Python scripts call the commands, shell scripts make their environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import forked

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("script", "command"), [("train", "train"), ("translate", "translate"), ("export_alignments", "align")]
)
def test_scripts_are_the_commands(script, command):
    command_line = [sys.executable, f"scripts/{script}.py", "--help"]
    result = subprocess.run(command_line, capture_output=True, text=True, cwd=REPOSITORY)
    assert result.returncode == 0
    assert result.stdout.startswith(f"usage: nmt {command} ")


SCRIPTS = sorted(
    str(path.relative_to(REPOSITORY))
    for folder in ("corpora", "benchmarks", "studies")
    for path in (REPOSITORY / "scripts" / folder).glob("[!_]*.py")
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_shows_its_help_from_the_repository_root(script):
    result = forked([script, "--help"], REPOSITORY)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"usage: {Path(script).name} ")


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A copy of the files that the shell scripts read, without an environment."""
    for name in ("setup.cfg", "pyproject.toml", "constraints.txt", "scripts/environment.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((REPOSITORY / name).read_text())
    return tmp_path


def prepare(checkout: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Prepares the environment with these variables in place of PYTHON."""
    command = "set -euo pipefail; source scripts/environment.sh; prepare_environment '[test]'"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON"} | variables
    return subprocess.run(["bash", "-c", command], cwd=checkout, capture_output=True, text=True, env=environment)


def program(path: Path, body: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def interpreter(path: Path, version: str, bare: bool = False) -> str:
    """A fake Python of this version, which writes its calls into a file; a bare one cannot make environments."""
    answers = f"*version_info*) echo {version};; *ensurepip*) exit {int(bare)};;"
    python = "mkdir -p .venv/bin; printf '#!/bin/sh\\n' > .venv/bin/python; chmod +x .venv/bin/python"
    return program(path, f'echo "$0 $*" >> calls; case "$2" in {answers} venv) {python};; esac')


def test_environment_needs_a_supported_python(checkout):
    missing = prepare(checkout, PYTHON="python-nowhere")
    assert missing.returncode == 2
    assert "needs Python 3.11, 3.12, 3.13 (none is installed as python-nowhere)" in missing.stderr
    for version in ("3.8", "3.14"):
        other = prepare(checkout, PYTHON=interpreter(checkout / "other", version))
        assert other.returncode == 2
        assert f"other is {version})" in other.stderr
    bare = prepare(checkout, PYTHON=interpreter(checkout / "bare", "3.12", bare=True))
    assert bare.returncode == 2
    assert "python3-venv" in bare.stderr
    assert not (checkout / ".venv").exists()


def test_environment_takes_the_first_suitable_python(checkout):
    pythons = [interpreter(checkout / "bin" / f"python{name}", v) for name, v in (("3", "3.14"), ("3.13", "3.13"))]
    made = prepare(checkout, PATH=f"{checkout / 'bin'}:{os.environ['PATH']}")
    assert made.returncode == 0, made.stderr
    assert f"{pythons[1]} -m venv --clear .venv" in (checkout / "calls").read_text()


def test_environment_is_installed_again_only_when_its_files_change(checkout):
    program(checkout / ".venv/bin/python", 'echo "$@" >> installed')
    (checkout / ".venv/pyvenv.cfg").write_text(f"command = python -m venv {checkout.resolve()}/.venv\n")
    for _ in range(2):
        assert prepare(checkout, PYTHON="python-nowhere").returncode == 0
    assert (checkout / "installed").read_text().count("--editable .[test]") == 1
    (checkout / "constraints.txt").write_text("")
    assert prepare(checkout, PYTHON="python-nowhere").returncode == 0
    assert (checkout / "installed").read_text().count("--editable .[test]") == 2


def test_a_copied_checkout_has_an_environment_of_its_own(checkout, tmp_path):
    """An environment holds absolute paths, so that of a copy would run the code of the original."""
    program(checkout / ".venv/bin/python", 'echo "$@" >> installed')
    (checkout / ".venv/pyvenv.cfg").write_text(f"command = python -m venv {checkout.resolve()}/.venv\n")
    assert prepare(checkout, PYTHON="python-nowhere").returncode == 0
    copy = tmp_path / "a copy"
    shutil.copytree(checkout, copy, ignore=shutil.ignore_patterns(copy.name), symlinks=True)
    ended = prepare(copy, PYTHON="python-nowhere")
    assert ended.returncode == 2 and "none is installed as python-nowhere" in ended.stderr


@pytest.mark.parametrize(
    "command",
    [
        "corpora/corrupt.py damage --target nowhere --output out",
        pytest.param("benchmarks/benchmark.py --source nowhere --target nowhere", marks=pytest.mark.slow),
    ],
)
def test_a_users_mistake_is_one_line(command, tmp_path):
    script, *arguments = command.split()
    result = subprocess.run(
        [sys.executable, REPOSITORY / "scripts" / script, *arguments], capture_output=True, text=True, cwd=tmp_path
    )
    assert result.returncode == 2
    assert result.stderr == f"{Path(script).name}: error: nowhere: No such file or directory: expected a text file\n"
