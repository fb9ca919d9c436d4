"""Trainings with several workers as processes of this machine, inside a network of their own.

TensorFlow's workers listen on every interface, so they run where loopback is the only one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import commands

ENTER = 'ip link set lo up && exec "$@"'


def network_is_private() -> bool:
    """Whether loopback is the only interface of this process."""
    return [name for _, name in socket.if_nameindex()] == ["lo"]


def in_private_network(program: Sequence[str], backend: str = "tensorflow") -> str:
    """The standard output of a Python program that runs where loopback is the only interface.

    Skips the test where this is not allowed.
    """
    enter = ["unshare", "-rn", "bash", "-c", ENTER, "_"]
    import pytest

    if not shutil.which("unshare") or subprocess.run([*enter, "true"], capture_output=True).returncode:
        pytest.skip("unshare -rn is not allowed here, or ip is missing: workers would listen on every interface")
    tests = commands.REPOSITORY / "tests"
    paths = os.pathsep.join(str(path) for path in (commands.REPOSITORY, tests))
    environment = {**os.environ, "PYTHONPATH": paths, "KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    ran = subprocess.run([*enter, sys.executable, *program], capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stderr[-5000:]
    return ran.stdout


class Ended(NamedTuple):
    """A worker that has ended."""

    returncode: int
    """Negative: the signal that ended it."""
    stderr: str
    seconds: float
    """From the beginning of `Workers.wait`."""


class Workers:
    """`nmt WORDS` as several workers.

    Args:
        words: of each worker.
        directory: working directory; also takes the lines of the workers.
        count: number of workers.
        port: of worker 0; the others have the ports behind it.
        environment: further variables of the workers.
    """

    def __init__(
        self, words: Sequence[str], directory: Path, count: int, port: int = 42000, **environment: str
    ) -> None:
        assert network_is_private()
        cluster: dict[str, Any] = {"worker": [f"127.0.0.1:{port + index}" for index in range(count)]}
        self._lines = [directory / f"worker-{index}" for index in range(count)]
        self.processes = []
        for index, lines in enumerate(self._lines):
            lines.unlink(missing_ok=True)  # of earlier workers
            task = {"cluster": cluster, "task": {"type": "worker", "index": index}}
            variables = {**environment, "TF_CONFIG": json.dumps(task)}
            process = commands.FORKS.Process(target=_worker, args=(list(words), directory, lines, variables))
            process.start()
            self.processes.append(process)

    def send(self, index: int, number: int) -> None:
        """Sends a signal to a worker, unless it has ended."""
        if self.processes[index].is_alive():
            os.kill(self.processes[index].pid, number)

    def lines(self, index: int) -> str:
        """What a worker has written to standard error."""
        return self._lines[index].read_text(errors="replace") if self._lines[index].exists() else ""

    def wait(self, seconds: float, indices: Sequence[int] = ()) -> list[Ended]:
        """Waits for workers (default: all). Workers that are left after these seconds are killed, and end with -9."""
        started, ended = time.monotonic(), []
        for index in indices or range(len(self.processes)):
            process = self.processes[index]
            process.join(max(0.0, started + seconds - time.monotonic()))
            if process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
                process.join()
            ended.append(Ended(process.exitcode, self.lines(index), time.monotonic() - started))
        return ended


def _worker(words: list[str], directory: Path, lines: Path, variables: dict[str, str]) -> None:
    """What the process of a worker does."""
    os.environ.update(variables)
    if os.environ.get("KERAS_BACKEND") != "jax":  # optimizing its programs takes TensorFlow most of the time
        import tensorflow as tf

        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    commands._program(["-m", "nmt", *words], directory, [Path(os.devnull), Path(os.devnull), lines])
