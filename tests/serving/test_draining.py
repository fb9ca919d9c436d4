"""A server that ends answers the requests that clients have sent already, and writes nothing behind an answer."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest
from raw_requests import all_bytes, one_answer, request_of, translation_in
from server_process import PATIENCE, Server, running

from nmt.serving.draining import accepted_by_system, drop_new_connections

AT_ONCE = 20
"""Connections of each kind."""


@contextmanager
def connections(server: Server) -> Iterator[list[socket.socket]]:
    opened = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(AT_ONCE)]
    yield opened
    for one in opened:
        one.close()


@pytest.mark.skipif(sys.platform != "linux", reason="needs the packet filter of Linux")
def test_a_socket_takes_begun_connections_and_ignores_new_ones():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        with socket.create_connection(address) as begun:
            drop_new_connections([listener])
            with pytest.raises(TimeoutError):
                socket.create_connection(address, timeout=0.3)
            begun.sendall(b"sent later")
            (accepted,) = accepted_by_system(listener)
            with accepted:
                accepted.settimeout(PATIENCE)
                assert accepted.recv(100) == b"sent later"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=PATIENCE)


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "loop"), [(1, "uvloop"), (1, "asyncio"), (2, "uvloop")])
def test_requests_that_arrive_with_the_signal_are_answered(tmp_path, workers, loop):
    """On connections that have an answer, that are new, and that the system alone has accepted so far."""
    if loop == "asyncio":  # as in constraints-runtime.txt
        (tmp_path / "uvloop.py").write_text('raise ImportError("not installed")')
    with running(["--workers", str(workers)], tmp_path) as server:
        for _ in range(workers):
            assert server.process.stderr.readline() == "nmt: model run is ready\n"
        processes = [psutil.Process(server.process.pid)]
        processes += [child for child in processes[0].children() if "spawn_main" in " ".join(child.cmdline())]
        assert len(processes) == (1 if workers == 1 else 1 + workers)
        with connections(server) as used, connections(server) as new:
            for one in used:
                one.sendall(request_of("a"))
                assert translation_in(one_answer(one)) == "A"
            time.sleep(0.2)  # for a process to accept the new ones
            for process in processes:
                process.suspend()
            with connections(server) as waiting:
                texts = [f"b {number}" for number in range(3 * AT_ONCE)]
                for text, one in zip(texts, [*used, *new, *waiting], strict=True):
                    one.sendall(request_of(text))
                time.sleep(0.2)  # their loops look at the signal first
                for process in processes:
                    os.kill(process.pid, signal.SIGTERM)
                    process.resume()
                for text, one in zip(texts, [*used, *new, *waiting], strict=True):
                    assert translation_in(all_bytes(one)) == text.upper()
        begun = time.monotonic()
        server.process.wait(PATIENCE)
        assert server.process.returncode == 0 and time.monotonic() - begun < 10


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_idle_connections_do_not_hold_up_the_end(tmp_path, workers):
    with (
        running(["--drain-seconds", "100", "--workers", str(workers)], tmp_path) as server,
        connections(server) as idle,
    ):
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert [one.recv(1) for one in idle] == [b""] * len(idle)
        server.process.wait(PATIENCE)
        assert time.monotonic() - begun < 10


@pytest.mark.slow
def test_nobody_listens_while_running_requests_are_finished(tmp_path):
    """Also with workers: the supervisor's socket would let clients connect, and reset them at the end."""
    with (
        running(["--drain-seconds", "100", "--max-characters", "500", "--workers", "2"], tmp_path) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as held,
    ):
        held.sendall(request_of(f"wait {tmp_path}/gate"))
        end = time.monotonic() + PATIENCE
        while not (tmp_path / "gate.begun").exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionRefusedError):
            while time.monotonic() < end:
                socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE).close()
                time.sleep(0.05)
        assert time.monotonic() - begun < 10
        (tmp_path / "gate").touch()
        assert translation_in(all_bytes(held))
        server.process.wait(PATIENCE)
