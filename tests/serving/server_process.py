"""A server in a process of its own, with the translator of `small_server`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from commands import REPOSITORY, environment

PATIENCE = 120
"""Seconds after which a server has failed; nothing depends on it otherwise."""


class Server:
    """A running server.

    Args:
        flags: of `nmt serve`, besides the model and the port.
        directory: for the run directory.
        port: 0 is a free one.
        program: the module that is the `nmt` command.
        models: the models by name.
    """

    def __init__(
        self,
        flags: list[str],
        directory: Path,
        port: int = 0,
        program: str = "small_server",
        models: Mapping[str, Path] | None = None,
    ) -> None:
        models = models or {"run": directory / "run"}
        (directory / "run").mkdir(exist_ok=True)
        paths = [str(REPOSITORY), str(REPOSITORY / "tests"), str(REPOSITORY / "tests" / "serving")]
        named = [f"{name}={path}" for name, path in models.items()]
        self.process = subprocess.Popen(
            [sys.executable, "-m", program, "serve", "--model", *named, "--port", str(port), *flags],
            cwd=directory,
            env=environment() | {"PYTHONPATH": os.pathsep.join([str(directory), *paths])},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr
        line = self.process.stderr.readline()
        found = re.fullmatch(rf"nmt: serving {', '.join(models)} at (http://127\.0\.0\.1:(\d+))/\n", line)
        assert found, line + self.process.stderr.read()
        self.address, self.port = found[1], int(found[2])

    def wait(self) -> None:
        """Waits until the models are loaded."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{self.address}/readyz", timeout=PATIENCE):
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the server is not ready")

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request, which must succeed."""
        request = urllib.request.Request(
            self.address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


@contextmanager
def running(flags: list[str], directory: Path, **options: Any) -> Iterator[Server]:
    """A server that is ready; it is killed behind the block if it runs then."""
    server = Server(flags, directory, **options)
    try:
        server.wait()
        yield server
    finally:
        server.process.kill()
        server.process.wait()
        assert server.process.stderr
        server.process.stderr.close()
