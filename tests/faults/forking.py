"""Runs `nmt` commands in forks of one process that has imported TensorFlow, each with its own fault of the disk.

Importing takes seconds and a small command a fraction of one, so a thousand faults take minutes.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

REPOSITORY = Path(__file__).parents[2]


class Ended(NamedTuple):
    """A command that has ended."""

    returncode: int
    """Negative: the signal that ended it."""
    stdout: str
    stderr: str


class Forks:
    """A process that runs commands in forks of itself.

    Args:
        library: the one of `disk.build`.
        place: an empty directory for the output of commands.
        backend: of Keras.
    """

    def __init__(self, library: Path, place: Path, backend: str = "tensorflow") -> None:
        self._place = place
        variables = {"LD_PRELOAD": str(library), "FAULTS_LIBRARY": str(library), "KERAS_BACKEND": backend}
        variables |= {
            "PYTHONPATH": str(REPOSITORY),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TF_NUM_INTRAOP_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
        }
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | variables,
            text=True,
        )

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate("")

    def run(
        self,
        words: Sequence[str],
        directory: Path,
        root: Path | None = None,
        record: Path | None = None,
        at: int = 0,
        fault: int = 0,
        reads: bool = False,
        kill_after: float = 0,
        text: str = "",
        by: int = signal.SIGKILL,
    ) -> Ended:
        """Runs `nmt WORDS` in a directory.

        Args:
            words: the arguments of the command.
            directory: the working directory.
            root, record, at, fault, reads: see `disk.watched`; None: nothing is watched.
            kill_after: seconds to the signal; 0: none.
            text: the standard input.
            by: the signal.
        """
        streams = [self._place / name for name in ("in", "out", "err")]
        for stream, content in zip(streams, (text, "", ""), strict=True):
            stream.write_text(content)
        request = {"words": list(words), "directory": str(directory), "streams": [str(stream) for stream in streams]}
        watch = [str(root.resolve()) if root else "", str(record or ""), at, fault, int(reads)]
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({**request, "watch": watch, "kill": [kill_after, int(by)]}) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return Ended(code, *(stream.read_text(errors="replace") for stream in streams[1:]))


def _serve() -> None:
    """Reads a request per line and writes the exit code of its command."""
    import nmt.cli.commands
    import nmt.training.trainer
    import nmt.translation.inference.model_inference  # noqa: F401

    if os.environ["KERAS_BACKEND"] == "tensorflow":  # optimizing its programs takes TensorFlow half of the time
        import tensorflow as tf

        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    gc.freeze()  # or each fork would look through all modules for garbage again
    library = ctypes.CDLL(os.environ["FAULTS_LIBRARY"])
    library.faults_watch.argtypes = [*[ctypes.c_char_p] * 2, *[ctypes.c_long] * 3]
    for line in sys.stdin:
        request = json.loads(line)
        kill_after, by = request.pop("kill")
        child = os.fork()
        if child == 0:
            _run(library, **request)
        print(os.waitstatus_to_exitcode(_end_of(child, kill_after, by)), flush=True)


def _end_of(child: int, kill_after: float, by: int) -> int:
    """Waits for a process, and sends it a signal when its seconds are over; 0: it may take any time."""
    killer = threading.Timer(kill_after, os.kill, (child, by))
    if kill_after:
        killer.start()
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    killer.cancel()
    if kill_after:
        killer.join()  # a late signal meets the dead process, whose number nobody else has yet
    return os.waitpid(child, 0)[1]


def _run(library: ctypes.CDLL, words: list[str], directory: str, streams: list[str], watch: list[Any]) -> None:
    """Runs a command and ends this process."""
    code = 1
    try:
        os.chdir(directory)
        modes = os.O_RDONLY, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_TRUNC
        for descriptor, (stream, mode) in enumerate(zip(streams, modes, strict=True)):
            os.dup2(os.open(stream, mode), descriptor)
        sys.stdin, sys.stdout, sys.stderr = (open(place, mode) for place, mode in enumerate("rww"))  # noqa: SIM115
        root, record, *numbers = watch
        if root:
            library.faults_watch(root.encode(), record.encode(), *numbers)
        from nmt.cli import main

        code = main(words)
    except SystemExit as error:
        code = int(error.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
