"""The server process: its address, its end, and clients that misbehave."""

from __future__ import annotations

import asyncio
import atexit
import multiprocessing
import os
import queue
import re
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import fake_translator
import psutil
import pytest
from fastapi.testclient import TestClient
from server_process import PATIENCE, Server, running
from small_server import Fake

from nmt.cli import main
from nmt.cli.quiet import _redirected
from nmt.errors import NmtError
from nmt.serving import server as serving


def wait_for(path):
    end = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_server_finishes_its_requests_when_it_is_terminated(tmp_path):
    with (
        running(["--drain-seconds", "100", "--max-characters", "500"], tmp_path) as server,
        ThreadPoolExecutor() as threads,
    ):
        with pytest.raises(NmtError, match=f"cannot listen on 127.0.0.1:{server.port}: .*choose another --port"):
            serving.bind("127.0.0.1", server.port)
        assert server.post("/v1/translate", {"text": "a b"})["translations"][0]["candidates"][0]["text"] == "A B"
        held = threads.submit(server.post, "/v1/translate", {"text": f"wait {tmp_path}/gate"})
        wait_for(tmp_path / "gate.begun")
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(OSError):
            while True:
                socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE).close()
        ending = "nmt: ending: requests that have begun get up to 100 s\n"
        assert next(line for line in server.process.stderr if "ending" in line) == ending
        (tmp_path / "gate").touch()
        assert held.result(PATIENCE)["translations"]
        server.process.wait(PATIENCE)
        assert server.process.returncode == 0


def test_no_part_of_an_answer_waits_for_an_acknowledgement():
    """Otherwise each answer is 40 ms late."""

    async def delays_are_off():
        accepted = asyncio.get_running_loop().create_future()
        async with await asyncio.start_server(lambda _, writer: accepted.set_result(writer), sock=listener):
            _, client = await asyncio.open_connection(*listener.getsockname())
            writer = await accepted
            try:
                return writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            finally:
                writer.close()
                client.close()

    with serving.bind("127.0.0.1", 0) as listener:
        assert asyncio.run(delays_are_off())


@pytest.mark.slow
def test_a_request_that_outlasts_the_drain_is_told_so(tmp_path):
    with (
        running(["--drain-seconds", "1", "--max-characters", "500"], tmp_path) as server,
        ThreadPoolExecutor() as threads,
    ):
        held = threads.submit(server.post, "/v1/translate", {"text": f"wait {tmp_path}/gate"})
        wait_for(tmp_path / "gate.begun")
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(urllib.error.HTTPError) as refused:
            held.result(PATIENCE)
        assert refused.value.code == 503 and refused.value.headers["Retry-After"]
        assert refused.value.read() == b'{"error":"the server is ending"}'
        server.process.wait(PATIENCE)
        assert server.process.returncode == 0 and "Traceback" not in server.process.stderr.read()


def test_a_process_ends_although_a_batch_is_being_computed(monkeypatch):
    """Python waits for TensorFlow when it ends, TensorFlow for its batch; or the process is aborted."""
    ended, codes, last = threading.Event(), [], []
    monkeypatch.setattr(atexit, "register", lambda *call: last.append(call))
    monkeypatch.setattr(serving, "END_SECONDS", 0)
    monkeypatch.setattr(os, "_exit", lambda code: (codes.append(code), ended.set()))
    with TestClient(
        serving.app_of(serving.Settings(("run",), lambda _: Fake())), base_url="http://localhost"
    ) as client:
        assert client.get("/healthz").status_code == 200 and not codes
    assert ended.wait(PATIENCE) and codes == [0] and (os._exit, 0) in last


def test_requests_are_logged_while_a_model_is_loaded(capfd):
    client = TestClient(
        serving.app_of(serving.Settings(("run",), lambda _: Fake(), log_requests=True)), base_url="http://localhost"
    )
    with open(os.devnull, "wb") as nothing, _redirected(nothing.fileno()):
        client.get("/healthz")
    assert " GET /healthz 200 " in capfd.readouterr().err


def post_until_loaded(server: Server, body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a translation; a process that is still loading its models asks for another attempt."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return server.post("/v1/translate", body)
        except urllib.error.HTTPError as refused:
            assert refused.code == 503 and refused.headers["Retry-After"] and time.monotonic() < end
            time.sleep(0.1)


@pytest.mark.slow
def test_several_processes_share_a_port_and_a_dead_one_is_replaced(tmp_path):
    with running(["--workers", "2"], tmp_path) as server:
        parent = psutil.Process(server.process.pid)
        workers = {child.pid for child in parent.children() if "spawn_main" in " ".join(child.cmdline())}
        assert len(workers) == 2
        os.kill(min(workers), signal.SIGKILL)
        end = time.monotonic() + PATIENCE
        while len({child.pid for child in parent.children()} - workers) == 0:
            assert time.monotonic() < end
            time.sleep(0.1)
        for number in range(20):
            answer = post_until_loaded(server, {"text": f"a {number}"})
            assert answer["translations"][0]["candidates"][0]["text"] == f"A {number}"
        with urllib.request.urlopen(f"{server.address}/metrics") as found:
            measured = found.read().decode()
        counted = re.search(r'nmt_requests_total{route="/v1/translate",status="200"} (\S+)', measured)
        assert counted and float(counted[1]) == 20
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(PATIENCE)
        assert server.process.returncode == 0 and not psutil.pid_exists(max(workers))


@pytest.mark.slow
def test_workers_end_when_their_supervisor_is_killed(tmp_path):
    with running(["--workers", "2"], tmp_path) as server:
        workers = psutil.Process(server.process.pid).children()
        server.process.kill()
        _, left = psutil.wait_procs(workers, PATIENCE)
        for worker in left:
            worker.kill()
        assert not left


def test_a_worker_ends_like_its_supervisor_would_end_it(monkeypatch):
    ended: queue.Queue[tuple[int, int]] = queue.Queue()
    monkeypatch.setattr(os, "kill", lambda *call: ended.put(call))
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(join=lambda: None))
    serving._end_with_supervisor()
    assert ended.get(timeout=PATIENCE) == (os.getpid(), signal.SIGTERM)


@pytest.mark.slow
def test_clients_that_misbehave_hold_up_nobody(tmp_path):
    """Clients that send a body slowly, too large a body, endless headers, or go away, and 1,000 idle connections."""
    flags = ["--max-body-seconds", "1", "--max-queue", "3"]
    with ThreadPoolExecutor() as threads, running(flags, tmp_path) as server:
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(1000)]
        slow = socket.create_connection(("127.0.0.1", server.port))
        head = "POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        slow.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        large = socket.create_connection(("127.0.0.1", server.port))
        large.sendall(f"{head}Content-Length: 10000000\r\n\r\n{{".encode())
        assert large.recv(1000).startswith(b"HTTP/1.1 413 ")
        endless = socket.create_connection(("127.0.0.1", server.port))
        endless.settimeout(PATIENCE)
        endless.sendall(f"{head}X: ".encode().ljust(serving.HEADER_BYTES + 1, b"x"))
        assert endless.recv(1000).startswith(b"HTTP/1.1 400 ") and not endless.recv(1000)
        assert server.post("/v1/translate", {"text": "a"})["translations"]
        assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")
        held = threads.submit(server.post, "/v1/translate", {"text": f"wait {tmp_path}/gate"})
        wait_for(tmp_path / "gate.begun")
        leaving = socket.create_connection(("127.0.0.1", server.port))
        body = '{"text": ["a", "b"]}'
        leaving.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        refused = urllib.request.Request(
            f"{server.address}/v1/translate", b'{"text": ["c", "d", "e"]}', {"Content-Type": "application/json"}
        )
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(refused, timeout=PATIENCE)
        assert error.value.code == 429 and error.value.headers["Retry-After"]
        leaving.close()  # frees its two places
        waiting = threads.submit(with_retries, server, {"text": ["c", "d"]})
        (tmp_path / "gate").touch()
        assert waiting.result(PATIENCE)["translations"] and held.result(PATIENCE)["translations"]
        for connection in [*idle, slow, large, endless]:
            connection.close()


def with_retries(server, body):
    """The answer to a request, once the queue has places for it."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return server.post("/v1/translate", body)
        except urllib.error.HTTPError as error:
            assert error.code == 429 and time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.parametrize("flags", [[], ["--open"]])
def test_open_shows_the_page_once_clients_can_connect(tmp_path, monkeypatch, capsys, flags):
    opened = []

    def browse(address: str) -> bool:
        found = urlsplit(address)
        socket.create_connection((found.hostname, found.port), timeout=PATIENCE).close()
        opened.append(address)
        return True

    fake_translator.install(monkeypatch.setattr)
    monkeypatch.setattr(serving.webbrowser, "open", browse)
    monkeypatch.setattr(serving.DrainingServer, "run", lambda _, sockets: [one.close() for one in sockets])
    (tmp_path / "run").mkdir()
    assert main(["serve", "--model", str(tmp_path / "run"), "--port", "0", *flags]) == 0
    (line,) = re.findall(r"nmt: serving run at (http://127\.0\.0\.1:\d+/)\n", capsys.readouterr().err)
    assert opened == ([line] if flags else [])


def test_a_port_that_is_no_port_is_refused():
    with pytest.raises(NmtError, match="cannot listen on 127.0.0.1:70000"):
        serving.bind("127.0.0.1", 70000)


@pytest.mark.parametrize(
    ("host", "reason"), [("", "--host is blank"), (" ", "--host is blank"), ("\u00e4" * 70, "cannot")]
)
def test_a_host_that_is_no_host_is_refused(host, reason):
    """A blank one would listen on every address."""
    with pytest.raises(NmtError, match=reason):
        serving.bind(host, 0)
