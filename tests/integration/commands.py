"""Runs the commands as a user does, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def environment() -> dict[str, str]:
    """That of a user who has set nothing."""
    ours = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    return ours | {"PYTHONPATH": str(REPOSITORY)}


def run(arguments: Sequence[str], directory: Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """A Python program in a working directory; text is UTF-8, with other bytes as `os.fsdecode` has them."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        input=text,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        env=environment(),
    )


def nmt(command: str, directory: Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """`nmt command` in a working directory, which must succeed and say only what is its own."""
    result = run(["-m", "nmt", *command.split()], directory, text)
    assert result.returncode == 0, result.stderr
    assert all(line.startswith("nmt: ") for line in result.stderr.splitlines()), result.stderr
    return result


def script(name: str, command: str, directory: Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """`python scripts/name.py command` in a working directory, which must succeed."""
    result = run([str(REPOSITORY / "scripts" / f"{name}.py"), *command.split()], directory, text)
    assert result.returncode == 0, result.stderr
    return result


def contents(directory: Path) -> dict[str, bytes]:
    """Every file below a directory."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
