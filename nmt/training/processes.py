"""`nmt` commands in processes of their own, for work that trains several runs at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from nmt.backend.machine import processors


class CommandRunner:
    """Runs `nmt` commands in processes of their own, from any thread. All of them end when this process is to end.

    Args:
        environment: the environment variables of the processes.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock, self._stopped = threading.Lock(), False

    def run(self, arguments: Sequence[object], log: TextIO) -> int:
        """Waits for a command and returns its exit code; -SIGTERM where `stop` was called before it."""
        with self.started(arguments, log) as process:
            return -signal.SIGTERM if process is None else process.wait()

    @contextmanager
    def started(self, arguments: Sequence[object], log: TextIO) -> Iterator[subprocess.Popen[bytes] | None]:
        """Starts a command, which writes its output to `log`; yields None after `stop`.

        On leaving the block, a command that is still running is terminated: it saves what it has and ends.
        """
        command = [sys.executable, "-m", "nmt", *map(str, arguments)]
        with self._lock:
            process = None
            if not self._stopped:
                process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=self._environment)
                self._running.add(process)
        try:
            yield process
        finally:
            if process is not None:
                process.terminate()  # does nothing to a process that has ended
                process.wait()
                self._running.discard(process)

    def stop(self) -> None:
        """Terminates the running commands, which save what they have; no further command starts."""
        with self._lock:
            self._stopped = True
            for process in [*self._running]:
                process.terminate()


def shared_cores(jobs: int) -> dict[str, str]:
    """The environment for one of `jobs` trainings at once: each gets an equal share of the cores."""
    if jobs == 1:
        return dict(os.environ)
    threads = str(max(1, processors() // jobs))
    names = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")
    return {**os.environ, **dict.fromkeys(names, threads)}
