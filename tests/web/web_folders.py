"""Static folders in which a browser translates, on a file server of their own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nmt.errors import NmtError
from nmt.web.runtime import runtime_files, usual_place


def require_runtime() -> None:
    """Skips a test where ONNX Runtime for browsers is missing."""
    try:
        runtime_files(usual_place())
    except NmtError:
        pytest.skip("needs ONNX Runtime for browsers: bash scripts/web_runtime.sh")


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files, and writes no lines about it."""

    def log_message(self, *_: object) -> None:
        """Writes nothing."""


@contextmanager
def serving(directory: Path) -> Iterator[str]:
    """The address of a file server, such as `python -m http.server`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(directory)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join(30)
    server.server_close()
