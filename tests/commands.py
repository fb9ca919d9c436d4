"""Runs the commands as a user does, in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

REPOSITORY = Path(__file__).parents[1]

FORKS = multiprocessing.get_context("forkserver")
"""Makes processes that have TensorFlow imported already, which takes a new one five seconds."""

FORKS.set_forkserver_preload(
    ["nmt.training.trainer", "nmt.translation.inference.model_inference", "nmt.cli.commands", __name__]
)


def environment() -> dict[str, str]:
    """That of a user who has set nothing."""
    ours = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    return ours | {"PYTHONPATH": str(REPOSITORY)}


def run(arguments: Sequence[str], directory: Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """A Python program in a working directory, which imports everything anew; text is UTF-8, with other bytes as
    `os.fsdecode` has them."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        input=text,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        env=environment(),
    )


def forked(arguments: Sequence[str], directory: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    """What `run` does, sooner: in a process that has TensorFlow imported."""
    with TemporaryDirectory() as place:
        streams = [Path(place) / name for name in ("in", "out", "err")]
        streams[0].write_text(text, encoding="utf-8")
        process = FORKS.Process(target=_program, args=(arguments, directory, streams))
        process.start()
        process.join()
        outputs = [stream.read_text(encoding="utf-8") for stream in streams[1:]]
    return subprocess.CompletedProcess(arguments, process.exitcode, *outputs)


def _program(arguments: Sequence[str], directory: Path, streams: Sequence[Path]) -> None:
    """What such a process does: `python ARGUMENTS`, which reads from the first stream and writes to the others."""
    os.chdir(directory)
    modes = os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT
    for descriptor, (stream, mode) in enumerate(zip(streams, modes, strict=True)):
        os.dup2(os.open(stream, mode), descriptor)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115  for as long as the process lives
    execute(arguments)


def execute(arguments: Sequence[str]) -> None:
    """`python ARGUMENTS` within this process: a module behind `-m`, or a file."""
    program, *sys.argv = arguments
    if program == "-m":
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [program, *sys.argv]
        sys.path.insert(0, str(Path(program).resolve().parent))
        runpy.run_path(program, run_name="__main__")


def nmt(command: str, directory: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    """`nmt command` in a working directory, which must succeed and say only what is its own."""
    result = forked(["-m", "nmt", *command.split()], directory, text)
    assert result.returncode == 0, result.stderr
    assert all(line.startswith("nmt: ") for line in result.stderr.splitlines()), result.stderr
    return result


def script(name: str, command: str, directory: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    """`python scripts/name.py command` in a working directory, which must succeed."""
    result = forked([str(REPOSITORY / "scripts" / f"{name}.py"), *command.split()], directory, text)
    assert result.returncode == 0, result.stderr
    return result


def contents(directory: Path) -> dict[str, bytes]:
    """Every file below a directory."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
