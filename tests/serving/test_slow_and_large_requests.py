"""Requests that arrive slowly, are too large or take too long are refused in time, with the limit that they exceed."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from fastapi.testclient import TestClient
from raw_requests import HEAD, all_bytes, one_answer, request_of, translation_in
from server_process import PATIENCE, running
from small_server import Fake

from nmt.serving import server as serving
from nmt.serving.app import create_app
from nmt.serving.limits import Limits
from nmt.serving.models import Models, ServedModel

LATE = 10
"""Seconds within which a limit of less than three seconds has been noticed."""


@contextmanager
def served(limits: Limits) -> Iterator[int]:
    """The port of a server with the protocol of `nmt serve`, in a thread."""
    model = ServedModel("run", Path("run"), lambda _: Fake(), limits)
    listener = serving.bind("127.0.0.1", 0)
    app = create_app(Models([model]), limits)
    server = uvicorn.Server(uvicorn.Config(app, http=serving.ImpatientProtocol, log_level="warning"))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    wait_for(model)
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(PATIENCE)


def wait_for(model: ServedModel) -> None:
    """Waits until the server has loaded its model, which happens in the background."""
    begun = time.monotonic()
    while model.state != "ready":
        assert time.monotonic() - begun < PATIENCE
        time.sleep(0.01)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def drip(connection: socket.socket, content: bytes, pause: float) -> tuple[bytes, float]:
    """Sends a byte after each pause until the server answers or closes; its bytes, and the seconds until then."""
    begun = time.monotonic()
    connection.settimeout(pause)
    for place in range(len(content)):
        try:
            connection.sendall(content[place : place + 1])
            found = connection.recv(65536)
        except TimeoutError:
            continue
        except OSError:
            found = b""
        return found, time.monotonic() - begun
    raise AssertionError("the server took all bytes")


def test_a_text_that_takes_too_long_is_refused_and_frees_its_place(tmp_path):
    limits = Limits(seconds=0.2, queue=2)
    model = ServedModel("run", Path("run"), lambda _: Fake(), limits)
    with TestClient(create_app(Models([model]), limits), base_url="http://localhost") as client:
        wait_for(model)
        begun = time.monotonic()
        refused = client.post("/v1/translate", json={"text": f"wait {tmp_path}/gate"})
        assert 0.2 <= time.monotonic() - begun < LATE
        assert refused.status_code == 504
        assert refused.json()["limit"] == "seconds" and refused.json()["value"] == 0.2
        assert "longer than 0.2 seconds" in refused.json()["error"]
        assert client.post("/v1/translate", json={"text": ["a", "b"]}).status_code == 429  # it is being computed
        (tmp_path / "gate").touch()
        while model.unfinished:
            assert time.monotonic() - begun < PATIENCE
            time.sleep(0.01)
        assert client.post("/v1/translate", json={"text": ["a", "b"]}).status_code == 200


def test_slow_headers_and_a_slow_body_end_a_connection_in_time(monkeypatch):
    monkeypatch.setattr(serving, "HEADER_SECONDS", 0.3)
    with served(Limits(body_seconds=0.3)) as port, connect(port) as silent:
        with connect(port) as slow:
            found, seconds = drip(slow, request_of("a"), 0.02)
            assert not found and 0.2 <= seconds < LATE
        with connect(port) as slow:
            slow.sendall(f"{HEAD}Content-Length: 1000\r\n\r\n".encode())
            found, seconds = drip(slow, b" " * 1000, 0.02)
            assert found.startswith(b"HTTP/1.1 408 ") and 0.2 <= seconds < LATE
        assert silent.recv(1) == b""


@pytest.mark.slow
def test_a_client_that_sends_a_byte_a_second_holds_up_nobody(tmp_path):
    """With the seconds of `nmt serve` for headers, and two seconds for the body."""
    most = serving.HEADER_SECONDS + LATE
    with running(["--max-body-seconds", "2"], tmp_path) as server, connect(server.port) as slow:
        ends: list[tuple[bytes, float]] = []
        dripping = threading.Thread(target=lambda: ends.append(drip(slow, HEAD.encode(), 1.0)))
        dripping.start()
        while dripping.is_alive():
            begun = time.monotonic()
            assert server.post("/v1/translate", {"text": "a"})["translations"]
            assert time.monotonic() - begun < LATE
            time.sleep(0.2)
        ((found, seconds),) = ends
        assert not found and serving.HEADER_SECONDS - 1 <= seconds < most
        with connect(server.port) as slow:
            slow.sendall(f"{HEAD}Content-Length: 100\r\n\r\n".encode())
            found, seconds = drip(slow, b" " * 100, 1.0)
            assert b'"limit":"body_seconds"' in found + all_bytes(slow)
        assert found.startswith(b"HTTP/1.1 408 ") and 1 <= seconds < LATE


@pytest.mark.parametrize("way", ["length", "chunks"])
def test_a_body_of_ten_megabytes_is_refused_and_the_client_reads_why(way):
    """Many clients send all of a body before they read."""
    megabyte = b" " * 1_000_000
    begun = time.monotonic()
    with served(Limits()) as port, connect(port) as large:
        if way == "length":
            large.sendall(f"{HEAD}Content-Length: 10000000\r\n\r\n".encode() + 10 * megabyte)
        else:
            part = b"%x\r\n%s\r\n" % (len(megabyte), megabyte)
            large.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode() + 10 * part + b"0\r\n\r\n")
        found = all_bytes(large)
        assert found.startswith(b"HTTP/1.1 413 ") and b"the limit is 4,000,000" in found
        assert json.loads(found.partition(b"\r\n\r\n")[2])["limit"] == "body"
        with connect(port) as other:
            other.sendall(request_of("a"))
            assert translation_in(one_answer(other)) == "A"
    assert time.monotonic() - begun < LATE


@pytest.mark.parametrize("parts", [1, 2])
def test_an_offer_of_another_protocol_is_ignored(parts: int) -> None:
    """As by Java's client, which offers HTTP/2 with each request; its body may come behind the headers."""
    offer = request_of("a b", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAEAA")
    head, end, body = offer.partition(b"\r\n\r\n")
    with served(Limits()) as port, connect(port) as connection:
        for _ in range(2):
            for part in ([offer], [head + end, body])[parts - 1]:
                connection.sendall(part)
                time.sleep(0.05)
            assert translation_in(one_answer(connection))


def test_the_rest_of_a_refused_body_is_no_request() -> None:
    """It is dropped, however it is cut, and the connection goes on."""
    body = b"x" * 1_000_000
    first = HEAD.replace("application/json", "text/plain")
    head = f"{first}Content-Length: {len(body)}\r\n"
    with served(Limits()) as port, connect(port) as connection:
        connection.sendall(f"{head}\r\n".encode() + body[:10])
        assert one_answer(connection).startswith(b"HTTP/1.1 415 ")
        for begin in range(10, len(body), 10_000):
            connection.sendall(body[begin : begin + 10_000])
        connection.sendall(request_of("a b"))
        assert translation_in(one_answer(connection))
