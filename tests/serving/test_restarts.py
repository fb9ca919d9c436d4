"""Restarts under load: no request is answered wrongly, and clients that try again lose nothing."""

from __future__ import annotations

import http.client
import signal
import threading
import time
import urllib.error

import pytest
from server_process import PATIENCE, Server, running

RESTARTS = 50


class Client(threading.Thread):
    """Asks for one translation after the other, and tries again when the server is away."""

    def __init__(self, server: Server, number: int) -> None:
        super().__init__(daemon=True)
        self.server, self.number = server, number
        self.stopped = False
        self.answered, self.wrong = 0, []

    def run(self) -> None:
        while not self.stopped:
            text = f"a {self.number} {self.answered}"
            found = self.answer(text)
            if found != text.upper():
                self.wrong.append((text, found))
            self.answered += 1

    def answer(self, text: str) -> str:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                return self.server.post("/v1/translate", {"text": text})["translations"][0]["candidates"][0]["text"]
            except urllib.error.HTTPError as error:
                if error.code not in (429, 503):
                    raise
            except (
                OSError,
                ValueError,
                http.client.HTTPException,
            ):  # it is starting, or was killed in the middle of an answer
                pass
            time.sleep(0.02)
        return "no answer"


@pytest.mark.slow
def test_fifty_restarts_under_load_lose_nothing(tmp_path):
    with running([], tmp_path) as first:
        server, clients = first, [Client(first, number) for number in range(4)]
        for client in clients:
            client.start()
        try:
            for restart in range(RESTARTS):
                before = sum(client.answered for client in clients)
                server.process.send_signal(signal.SIGKILL if restart % 2 else signal.SIGTERM)
                server.process.wait(PATIENCE)
                server = Server([], tmp_path, port=first.port)
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
            server.process.kill()
            server.process.wait()
    assert [client.wrong for client in clients] == [[]] * len(clients)
