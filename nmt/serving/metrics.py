"""Measurements of the server for Prometheus, and a line of the log for each request; both are without its text."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nmt.files.locking import locked, owner_ended
from nmt.serving.models import Models

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the directory in which processes add up their measurements."""
PREFIX = "nmt-metrics-"
NEW_SECONDS = 60
"""Age from which an unlocked directory belongs to no server: a new one is not locked yet."""

UPDATE_SECONDS = 1.0
"""Seconds between two measurements of the models of a process."""

SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
SENTENCES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """The measurements of a server process.

    Args:
        models: of the server; they report their batches here.
    """

    def __init__(self, models: Models) -> None:
        self._models, self._registry = models, CollectorRegistry()
        own = self._registry
        self.requests = Counter("nmt_requests", "Requests, by route and status.", ["route", "status"], registry=own)
        self.seconds = Histogram(
            "nmt_request_seconds", "Seconds of requests.", ["route"], buckets=SECONDS, registry=own
        )
        self.batches = Histogram(
            "nmt_batch_sentences", "Sentences computed together.", ["model"], buckets=SENTENCES, registry=own
        )
        self.unfinished = Gauge(
            "nmt_unfinished_sentences",
            "Sentences that wait or are being computed.",
            ["model"],
            multiprocess_mode="livesum",
            registry=own,
        )
        self.ready = Gauge("nmt_model_ready", "1 if loaded.", ["model"], multiprocess_mode="livemin", registry=own)
        for model in models.values():
            model.report_batch = self.batches.labels(model.name).observe

    def text(self) -> bytes:
        """The measurements of all processes of the server, in the format of Prometheus."""
        self.update()
        directory = os.environ.get(DIRECTORY)
        if not directory:
            return generate_latest(self._registry)
        _forget_ended(Path(directory))
        together = CollectorRegistry()
        MultiProcessCollector(together)
        return generate_latest(together)

    async def keep_current(self) -> None:
        """Measures the models each second for the other processes of the server, which cannot ask this one."""
        while os.environ.get(DIRECTORY):
            self.update()
            await asyncio.sleep(UPDATE_SECONDS)

    def update(self) -> None:
        """Measures the models."""
        for model in self._models.values():
            self.unfinished.labels(model.name).set(model.unfinished)
            self.ready.labels(model.name).set(model.state == "ready")


@contextmanager
def shared_measurements() -> Iterator[None]:
    """Lets the processes of a server add up their measurements in a temporary directory during this block. Directories
    of servers that were killed are deleted."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        _delete_if_left(path)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as directory, locked(Path(directory), None):
        os.environ[DIRECTORY] = directory
        yield


def _delete_if_left(path: Path) -> None:
    """Deletes a directory of this user whose server has ended."""
    try:
        found = path.lstat()
    except OSError:  # another server has deleted it
        return
    if found.st_uid == os.getuid() and time.time() - found.st_mtime > NEW_SECONDS and owner_ended(path):
        shutil.rmtree(path, ignore_errors=True)


def _forget_ended(directory: Path) -> None:
    """Deletes the states of worker processes that have ended. Otherwise they count as states of the server for good."""
    for pid in {int(path.stem.rpartition("_")[2]) for path in directory.glob("gauge_live*_*.db")}:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            with suppress(FileNotFoundError):  # another worker has deleted it
                mark_process_dead(pid, str(directory))


class Observer:
    """Measures each request, and writes a line about it: client, method, path, status, milliseconds.

    Args:
        app: answers the requests.
        metrics: counts them.
        log: writes a line; None: nothing is written.
        paths: of the routes, for requests that are refused before their route is found.
    """

    def __init__(
        self, app: ASGIApp, metrics: Metrics, log: Callable[[str], None] | None, paths: Collection[str] = ()
    ) -> None:
        self._app, self._metrics, self._log, self._paths = app, metrics, log, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            self._observe(scope, status, time.perf_counter() - started)

    def _observe(self, scope: Scope, status: int, seconds: float) -> None:
        refused = scope["path"] if scope["path"] in self._paths else "other"
        route = getattr(scope.get("route"), "path", None) or refused
        self._metrics.requests.labels(route, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        if self._log:
            client = (scope.get("client") or ("-",))[0]
            path = (
                scope.get("raw_path", b"").partition(b"?")[0].decode("ascii", "backslashreplace")
            )  # queries have text
            self._log(f"{client} {scope['method']} {path[:200]} {status} {1000 * seconds:.0f} ms")
