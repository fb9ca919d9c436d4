"""A mistake in the server's own code is one line of JSON for the client, and a traceback in the server's log."""

from __future__ import annotations

import json
import os
import select
import socket
import time
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from raw_requests import HEAD, all_bytes, one_answer, request_of
from server_process import PATIENCE, running
from small_server import LIMITS

from nmt.serving import messages
from nmt.serving.access import Access
from nmt.serving.app import create_app
from nmt.serving.models import Models

SAID = {"error": "the server made a mistake: its log has the cause"}


@pytest.fixture
def app(models: Models):
    """An application whose translator has a bug for the text `bug`."""
    for model in models.values():
        model.load()
    return create_app(models, LIMITS, Access(origins=("https://friend.example",)))


@pytest.mark.parametrize(
    ("path", "body"), [("/v1/translate", {"text": "bug"}), ("/translate", {"q": "bug", "source": "en", "target": "he"})]
)
def test_the_answer_is_one_line_of_json(app, path, body):
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        answer = client.post(path, json=body, headers={"Origin": "https://friend.example"})
    assert (answer.status_code, answer.json()) == (500, SAID)
    messages.ErrorAnswer.model_validate(answer.json())
    assert "content-security-policy" in answer.headers
    assert answer.headers["access-control-allow-origin"] == "https://friend.example"


def test_a_stream_ends_with_the_line(app):
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        answer = client.post("/v1/translate", json={"text": ["a", "bug"], "stream": True})
    assert json.loads(answer.text.splitlines()[-1]) == SAID


@pytest.mark.parametrize("stream", [True, False])
def test_the_cause_goes_on_to_the_log(app, stream):
    with TestClient(app, base_url="http://localhost") as client, pytest.raises(ValueError, match="a bug"):
        client.post("/v1/translate", json={"text": "bug", "stream": stream})


def test_the_client_reads_the_line_and_the_log_has_the_traceback(tmp_path: Path) -> None:
    with running([], tmp_path) as server:
        assert server.process.stderr
        log = server.process.stderr.fileno()
        body = b'{"text": "bug", "stream": true}'
        stream = f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body
        for request, read in ((request_of("bug"), one_answer), (stream, all_bytes)):
            with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
                connection.sendall(request)
                assert json.dumps(SAID, separators=(",", ":")).encode() in read(connection)
            written, end = "", time.monotonic() + PATIENCE
            while "ValueError: a bug" not in written:
                assert time.monotonic() < end, written
                time.sleep(0.05)
                written += (os.read(log, 65536) if readable(log) else b"").decode()


def readable(descriptor: int) -> bool:
    """Whether a read gives bytes at once."""
    return bool(select.select([descriptor], [], [], 0)[0])
