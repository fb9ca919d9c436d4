"""Runs the commands as a user does, in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

REPOSITORY = Path(__file__).parents[2]

FORKS = multiprocessing.get_context("forkserver")
"""Makes processes that have TensorFlow imported already, which takes a new one five seconds."""

FORKS.set_forkserver_preload(["nmt.training", "nmt.translator", "nmt.cli.arguments", __name__])


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


def nmt(command: str, directory: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    """`nmt command` in a working directory, which must succeed and say only what is its own.

    A process that imports everything anew is what `run` starts.
    """
    with TemporaryDirectory() as place:
        streams = [Path(place) / name for name in ("in", "out", "err")]
        streams[0].write_text(text, encoding="utf-8")
        process = FORKS.Process(target=_command, args=(command.split(), directory, streams))
        process.start()
        process.join()
        outputs = [stream.read_text(encoding="utf-8") for stream in streams[1:]]
    result = subprocess.CompletedProcess(command, process.exitcode, *outputs)
    assert result.returncode == 0, result.stderr
    assert all(line.startswith("nmt: ") for line in result.stderr.splitlines()), result.stderr
    return result


def _command(arguments: Sequence[str], directory: Path, streams: Sequence[Path]) -> None:
    """What such a process does: reads from the first stream, writes to the others, ends with the command's code."""
    from nmt.cli import main

    os.chdir(directory)
    modes = os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT
    for descriptor, (stream, mode) in enumerate(zip(streams, modes, strict=True)):
        os.dup2(os.open(stream, mode), descriptor)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115  for as long as the process lives
    sys.exit(main(arguments))


def script(name: str, command: str, directory: Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """`python scripts/name.py command` in a working directory, which must succeed."""
    result = run([str(REPOSITORY / "scripts" / f"{name}.py"), *command.split()], directory, text)
    assert result.returncode == 0, result.stderr
    return result


def contents(directory: Path) -> dict[str, bytes]:
    """Every file below a directory."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
