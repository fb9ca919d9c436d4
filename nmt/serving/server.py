"""The server process: the socket, uvicorn, and the browser."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable

import uvicorn

from nmt.errors import NmtError
from nmt.serving.app import create_app
from nmt.serving.models import Models


def serve(models: Models, host: str, port: int, say: Callable[[str], None], open_page: bool = False) -> None:
    """Serves models until the process is interrupted or terminated.

    Args:
        models: to serve.
        host: address to listen on.
        port: 0 is a free one.
        say: reports the address.
        open_page: whether a browser opens the page.

    Raises:
        NmtError: the address cannot be used.
    """
    listener = bind(host, port)
    address = url(host, listener.getsockname()[1])
    say(f"serving {', '.join(models)} at {address}")
    if open_page:
        webbrowser.open(address)
    config = uvicorn.Config(create_app(models), log_level="warning", access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listener])


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        NmtError: the port is in use, or the address is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise NmtError(f"cannot listen on {host}:{port}: {reason}; choose another --port or --host") from None
    return listener


def url(host: str, port: int) -> str:
    """The address of the page."""
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
