"""Beam's own local runner with several worker processes.

Beam's default on one machine is the Prism runner, a program that Beam fetches from the internet. This is the runner
before it, `FnApiRunner`, which is part of the Python package. Its servers would listen on every interface of the
machine, without passwords, and it waits forever for a worker that has been killed. Both are mended here.
"""

from __future__ import annotations

import fcntl
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apache_beam as beam
import grpc
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions
from apache_beam.portability.api import beam_provision_api_pb2
from apache_beam.runners.portability.fn_api_runner import fn_runner
from apache_beam.runners.portability.portable_runner import JobServiceHandle
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from nmt.errors import NmtError


class DeadWorkerError(NmtError):
    """A worker process has ended before its work was done."""


def run_locally(build: Callable[[Any], object], options: PipelineOptions, processes: int) -> Any:
    """Runs a pipeline in worker processes, which end with it, and returns its result.

    Args:
        build: adds the transforms to a pipeline.
        options: of the pipeline.
        processes: number of workers.

    Raises:
        DeadWorkerError: a worker has ended; the others are ended too.
    """
    options.view_as(DirectOptions).direct_num_workers = processes
    encoded = JobServiceHandle.encode_pipeline_options(options.get_all_options())
    provision = fn_runner.ExtendedProvisionInfo(beam_provision_api_pb2.ProvisionInfo(pipeline_options=encoded))
    died = _watch_workers()
    with TemporaryDirectory() as place, _lease(Path(place) / "lease") as lease, _loopback(), _asked(died) as asked:
        words = [sys.executable, "-m", "nmt.bulk.worker", str(lease)]
        command = f"trap '' INT; exec {shlex.join(words)}"  # Ctrl-C is the parent's
        environment = SubprocessSDKEnvironment.from_command_string(command)
        runner = fn_runner.FnApiRunner(default_environment=environment, provision_info=provision)
        try:
            pipeline = beam.Pipeline(runner=runner, options=options)
            build(pipeline)
            result = pipeline.run()
            result.wait_until_finish()
        except KeyboardInterrupt:
            if died.is_set() and not asked.is_set():
                raise DeadWorkerError("a worker process has ended before its work was done") from None
            raise
        return result


@contextmanager
def _lease(path: Path) -> Iterator[Path]:
    """A locked file; workers end when the block ends, or when this process does."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield path


@contextmanager
def _loopback() -> Iterator[None]:
    """Within the block, new servers of gRPC listen on loopback instead of on every interface."""
    make = grpc.server

    def make_local(*arguments: Any, **options: Any) -> Any:
        server = make(*arguments, **options)
        listen = server.add_insecure_port
        server.add_insecure_port = lambda address: listen(address.replace("[::]", "127.0.0.1"))
        return server

    grpc.server = make_local
    try:
        yield
    finally:
        grpc.server = make


@contextmanager
def _asked(died: threading.Event) -> Iterator[threading.Event]:
    """Sets the event if the user interrupts the block. Workers that end because of it count as no dead workers.

    A command behind & in a script ignores the user's interruptions, and still has to hear of a dead worker.
    """
    asked, before = threading.Event(), signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: Any) -> None:
        if not died.is_set():
            if before == signal.SIG_IGN:
                return
            asked.set()
        signal.default_int_handler(number, frame)

    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def _watch_workers() -> threading.Event:
    """From now on, the end of a worker interrupts the main thread and sets the event.

    The hook stays: connections of workers that have ended break later, which is no news.
    """
    died, before, main = threading.Event(), threading.excepthook, threading.main_thread()

    def look(arguments: threading.ExceptHookArgs) -> None:
        if isinstance(arguments.exc_value, grpc.RpcError):
            return
        if not str(arguments.exc_value).startswith("Worker subprocess exited"):
            before(arguments)
        elif not died.is_set():
            died.set()
            signal.pthread_kill(main.ident or 0, signal.SIGINT)

    threading.excepthook = look
    return died
