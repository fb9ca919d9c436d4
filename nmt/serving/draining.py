"""The end of a server: requests that clients have sent already are answered.

uvicorn closes the socket that listens, and so resets the connections that the system has accepted for it. With several
workers its supervisor keeps that socket open until the last worker ends: clients connect, wait, and are reset then.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import socket
from collections.abc import Iterator
from functools import partial
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors import multiprocess as uvicorn_workers

from nmt.progress import report

IDLE_SECONDS = 0.5
"""Seconds in which a request may arrive on an open connection after the server has begun to end."""


def _say_ending(config: uvicorn.Config) -> None:
    report(f"ending: requests that have begun get up to {config.timeout_graceful_shutdown} s")


class DrainingServer(uvicorn.Server):
    """A server that takes every connection that the system has accepted before it stops to listen."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if multiprocessing.parent_process() is None:  # the supervisor of workers says it for all
            _say_ending(self.config)
        late = [connection for listener in sockets or () for connection in accepted_by_system(listener)]
        taking = asyncio.create_task(self._take(late))  # runs when the sockets are closed
        await super().shutdown(sockets)
        await taking

    async def _take(self, connections: list[socket.socket]) -> None:
        """Makes connections ones of this server that is ending."""
        protocol: Any = self.config.http_protocol_class
        make = partial(protocol, config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
        for connection in connections:
            with contextlib.suppress(OSError):  # its client went away
                _, made = await asyncio.get_running_loop().connect_accepted_socket(make, connection)
                made.shutdown()


def accepted_by_system(listener: socket.socket) -> Iterator[socket.socket]:
    """The connections that wait at a socket that listens."""
    listener.setblocking(False)
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # none is left
            return
        connection.setblocking(False)
        yield connection


class DrainingWorkers(Multiprocess):
    """Workers that share a port, and are the only ones that listen when they end."""

    def terminate_all(self) -> None:
        _say_ending(self.config)
        for listener in self.sockets:
            listener.close()
        super().terminate_all()


uvicorn_workers.Server = DrainingServer  # type: ignore[misc]  # workers look their server up there
