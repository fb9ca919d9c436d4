"""Restarts under load: no request is answered wrongly, and none is dropped unless the server was killed."""

from __future__ import annotations

import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from raw_requests import all_bytes, is_whole, request_of, translation_in
from server_process import PATIENCE, Server, running

RESTARTS, RESTARTS_OF_WORKERS = 50, 12
NOT_NOW = (b"HTTP/1.1 429 ", b"HTTP/1.1 503 ")
"""Beginnings of answers that ask for another attempt."""


class Client(threading.Thread):
    """Asks for one translation after the other, and tries again when the server is away."""

    def __init__(self, port: int, number: int) -> None:
        super().__init__(daemon=True)
        self.port, self.number = port, number
        self.stopped = self.killed = False
        self.answered = 0
        self.wrong: list[tuple[str, bytes]] = []
        self.dropped: list[tuple[str, bytes]] = []
        """Requests on open connections without a whole answer, from a server that was not killed."""

    def run(self) -> None:
        end = time.monotonic() + PATIENCE
        while not self.stopped and time.monotonic() < end:
            text = f"a {self.number} {self.answered}"
            found = self.answer(text)
            if found is None or found.startswith(NOT_NOW):
                time.sleep(0.02)
            elif not is_whole(found):
                self.dropped += [] if self.killed else [(text, found)]
            else:
                self.wrong += [] if translation_in(found) == text.upper() else [(text, found)]
                self.answered += 1
                end = time.monotonic() + PATIENCE

    def answer(self, text: str) -> bytes | None:
        """All bytes of an answer; None if nobody listens."""
        try:
            connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        except OSError:
            return None
        with connection:
            try:
                connection.sendall(request_of(text, "Connection: close"))
                return all_bytes(connection)
            except OSError:
                return b" (reset)"


def restart(first: Server, place: Path, flags: list[str], signals: list[signal.Signals]) -> list[Client]:
    """Clients that have asked while a server was restarted with these signals, one after the other."""
    server, clients = first, [Client(first.port, number) for number in range(4)]
    for client in clients:
        client.start()
    try:
        for sent in signals:
            before = sum(client.answered for client in clients)
            for client in clients:
                client.killed = sent == signal.SIGKILL
            server.process.send_signal(sent)
            server.process.wait(PATIENCE)
            server = Server(flags, place, port=first.port)
            server.wait()
            end = time.monotonic() + PATIENCE
            while sum(client.answered for client in clients) < before + 8:
                assert time.monotonic() < end
                time.sleep(0.01)
        assert all(client.is_alive() for client in clients)
    finally:
        for client in clients:
            client.stopped = True
        for client in clients:
            client.join(PATIENCE)
        server.process.terminate()
        server.process.wait(PATIENCE)
    return clients


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "signals"),
    [
        ([], [signal.SIGTERM, signal.SIGKILL] * (RESTARTS // 2)),
        (["--workers", "2"], [signal.SIGTERM] * RESTARTS_OF_WORKERS),
    ],
    ids=["one process", "workers"],
)
def test_restarts_under_load_lose_nothing(tmp_path, flags, signals):
    with running(flags, tmp_path) as server:
        clients = restart(server, tmp_path, flags, signals)
    assert [client.wrong for client in clients] == [[]] * len(clients)
    assert [client.dropped for client in clients] == [[]] * len(clients)
