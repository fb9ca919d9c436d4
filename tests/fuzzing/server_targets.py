"""Fuzz targets for the bodies of requests: through the gate, the routes and the message classes, without sockets."""

from __future__ import annotations

import asyncio
import json
from functools import cache, partial
from pathlib import Path
from typing import Any

import fake_translator
from oracle import target
from small_server import LIMITS, Fake

from nmt.explaining import erasure
from nmt.serving.app import create_app
from nmt.serving.models import Models, ServedModel


@cache
def _server() -> tuple[asyncio.AbstractEventLoop, Any]:
    """A loop, and the application over a translator without a network."""
    erasure.erase = fake_translator.erase
    models = Models([ServedModel("one", Path("one"), lambda _: Fake())])
    for model in models.values():
        model.load()
    return asyncio.new_event_loop(), create_app(models, LIMITS)


async def _answer(app: Any, method: str, path: str, kind: bytes, body: bytes) -> tuple[int, bytes]:
    """The status and the body of an answer."""
    headers = [(b"host", b"localhost"), (b"content-type", kind)]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path}
    scope |= {"raw_path": path.encode(), "query_string": b"", "headers": headers, "scheme": "http", "root_path": ""}
    scope |= {"server": ("localhost", 80), "client": ("127.0.0.1", 1)}
    sent, answer = [{"type": "http.request", "body": body, "more_body": False}], []

    async def receive() -> Any:
        return sent.pop() if sent else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        answer.append(message)

    await app(scope, receive, send)
    return answer[0]["status"], b"".join(message.get("body", b"") for message in answer[1:])


def check_body(path: str, kind: bytes, data: bytes, place: Path) -> None:
    """Every body has an answer in JSON; no body is an error of the server."""
    loop, app = _server()
    status, answer = loop.run_until_complete(_answer(app, "POST", path, kind, data))
    assert status < 500, answer
    for line in answer.decode().splitlines() if status == 200 else [answer.decode()]:
        json.loads(line)


JSON, FORM = b"application/json", b"application/x-www-form-urlencoded"
BODIES: dict[str, tuple[str, bytes, tuple[bytes, ...]]] = {
    "translate": (
        "/v1/translate",
        JSON,
        (
            b'{"text": ["a <b>b</b>", "c"], "n_best": 2, "prefix": "A", "alignment": true, "markup": "html"}',
            b'{"text": "a b", "terms": [{"source": "a", "forms": ["x"]}], "lexicon": {"a": "b"}, "stream": true, '
            b'"copy_unknown": true, "erase": [0], "phrases": ["y"], "beam_size": 2}',
            b'{"text": "a b", "target": "x y", "alignment": true, "model": "one"}',
        ),
    ),
    "align": ("/v1/align", JSON, (b'{"text": ["a b"], "target": ["x y"]}',)),
    "explain": ("/v1/explain", JSON, (b'{"text": "a b", "target": null, "method": "attention"}',)),
    "libretranslate": (
        "/translate",
        JSON,
        (b'{"q": ["a b", "<i>c</i>"], "source": "auto", "target": "he", "format": "html", "alternatives": 1}',),
    ),
    "libretranslate-form": ("/translate", FORM, (b"q=a+b&source=en&target=he&format=text",)),
    "detect": ("/detect", JSON, ('{"q": "שלום"}'.encode(),)),
}

TARGETS = {
    f"server-{name}": target(partial(check_body, path, kind), *seeds) for name, (path, kind, seeds) in BODIES.items()
}
