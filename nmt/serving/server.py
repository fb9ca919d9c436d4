"""The server's processes: the socket, uvicorn, and the browser."""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import re
import signal
import socket
import threading
import webbrowser
from asyncio import TimerHandle, Transport
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import partial

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nmt.errors import NmtError
from nmt.progress import report
from nmt.serving.access import Access
from nmt.serving.app import create_app
from nmt.serving.draining import IDLE_SECONDS, DrainingServer, DrainingWorkers
from nmt.serving.limits import Limits
from nmt.serving.metrics import shared_measurements
from nmt.serving.models import Load, served_models

HEADER_SECONDS = 20
"""Seconds in which a client sends the headers of a request."""
HEADER_BYTES = 65536
"""Most bytes of these headers."""
END_SECONDS = 1.0
"""Seconds in which a process ends once its requests have been answered."""
ANSWERS_SUPERVISOR = 30
"""Seconds in which a worker answers its supervisor: compiling holds Python up."""


@dataclass(frozen=True)
class Settings:
    """A server."""

    models: tuple[str, ...]
    """Run directories or packs, also as NAME=DIRECTORY."""
    load: Load
    """Loads a model; a function of a module, because workers import it."""
    host: str = "127.0.0.1"
    port: int = 8000
    """0 is a free port."""
    workers: int = 1
    """Processes that share the port; each loads the models."""
    drain_seconds: int = 10
    """Seconds that running requests have after SIGTERM."""
    log_requests: bool = False
    limits: Limits = field(default_factory=Limits)
    access: Access = field(default_factory=Access)


def serve(settings: Settings, open_page: bool = False) -> None:
    """Serves models until the process is interrupted or terminated.

    Args:
        settings: of the server.
        open_page: whether a browser opens the page.

    Raises:
        NmtError: the address cannot be used.
    """
    names = ", ".join(served_models(settings.models, settings.load, settings.limits))
    listener = bind(settings.host, settings.port)
    _allow_many_connections()
    address = url(settings.host, listener.getsockname()[1])
    report(f"serving {names} at {address}")
    if open_page:
        webbrowser.open(address)
    config = uvicorn.Config(
        partial(app_of, settings),
        factory=True,
        http=ImpatientProtocol,
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        workers=settings.workers,
        timeout_graceful_shutdown=settings.drain_seconds,
        timeout_worker_healthcheck=ANSWERS_SUPERVISOR,
    )
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it after it has finished
        if settings.workers == 1:
            DrainingServer(config).run(sockets=[listener])
        else:
            with shared_measurements():
                DrainingWorkers(config, sockets=[listener]).run()


def app_of(settings: Settings) -> FastAPI:
    """The application of a server process, which ends soon after the application does."""
    models = served_models(settings.models, settings.load, settings.limits)
    app = create_app(models, settings.limits, settings.access, _log() if settings.log_requests else None)
    run_app = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        _end_with_supervisor()
        async with run_app(app):
            yield
        _end_soon()

    app.router.lifespan_context = lifespan
    return app


def _end_with_supervisor() -> None:
    """Lets a worker end when its supervisor is killed. Otherwise it would keep the port and its memory for good."""
    supervisor = multiprocessing.parent_process()

    def wait() -> None:
        supervisor.join()  # type: ignore[union-attr]
        os.kill(os.getpid(), signal.SIGTERM)

    if supervisor:
        threading.Thread(target=wait, name="supervisor", daemon=True).start()


def _log() -> Callable[[str], None]:
    """Writes lines to standard error by a descriptor of its own: while a model is loaded, TensorFlow's is silent."""
    return partial(report, stream=open(os.dup(2), "w", encoding="utf-8", errors="backslashreplace"))


def _end_soon() -> None:
    """Ends the process in `END_SECONDS`, even if a batch that nobody waits for is being computed.

    Python would wait for such a batch, or end its thread inside TensorFlow, which aborts the process.
    """
    atexit.register(os._exit, 0)  # what is registered last runs first
    timer = threading.Timer(END_SECONDS, os._exit, [0])
    timer.daemon = True
    timer.start()


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        NmtError: the port is in use, or the address is not one of this machine.
    """
    if not host.strip():
        raise NmtError("--host is blank; 0.0.0.0 listens on every address, 127.0.0.1 on this machine alone")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY if TCP is named. Otherwise the body of an answer waits 40 ms for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, OverflowError, TypeError) as error:  # TypeError: a name that DNS cannot encode
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise NmtError(f"cannot listen on {host}:{port}: {reason}; choose another --port or --host") from None
    listener.set_inheritable(True)
    return listener


def url(host: str, port: int) -> str:
    """The address of the page."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{shown}]:{port}/" if ":" in shown else f"http://{shown}:{port}/"


def _allow_many_connections() -> None:
    """Raises the number of files that this process may open, as far as the system lets it."""
    try:
        import resource
    except ImportError:  # not POSIX
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)
"""The header by which a client offers another protocol."""


class ImpatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 that closes a connection whose request does not arrive in time, or has too many bytes of headers.

    An offer of another protocol, such as HTTP/2 by Java's client, is ignored (RFC 9110, section 7.8). The parser would
    not read the body of such a request.
    """

    _deadline: TimerHandle | None = None
    _received = 0
    """Bytes of a request whose headers have not arrived."""
    _in_headers = True
    """Whether the next bytes are headers, and not those of a body."""
    _ending = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_request()

    def data_received(self, data: bytes) -> None:
        self._expect_request()
        if self._in_headers:
            headers, end, rest = data.partition(b"\r\n\r\n")
            data = UPGRADE.sub(b"\r\nx-ignored:", headers) + end + rest
        super().data_received(data)
        if self._answering:
            self._received = 0
            self._end_deadline()
            if self._ending:
                self.cycle.keep_alive = False
        elif self._in_headers:
            self._received += len(data)
            if self._received > HEADER_BYTES and not self.transport.is_closing():
                self.send_400_response("The headers are too large.")

    def on_headers_complete(self) -> None:
        self._in_headers = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_headers = True
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_deadline()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Ends the connection behind the running answer, or behind that to a request that is on its way."""
        self._ending = True
        if self._answering:
            self.cycle.keep_alive = False
        else:
            self.loop.call_later(IDLE_SECONDS, self._close)

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_request(self) -> None:
        """Starts the time of a request that has not arrived."""
        if self._deadline is None and not self._answering:
            self._deadline = self.loop.call_later(HEADER_SECONDS, self._close)

    def _end_deadline(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _close(self) -> None:
        self._deadline = None
        if not self._answering:
            self.transport.close()
