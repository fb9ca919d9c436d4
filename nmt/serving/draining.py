"""The end of a server: requests that clients have sent already are answered.

uvicorn closes the socket that listens, and so resets the connections that the system has accepted for it. With several
workers its supervisor keeps that socket open until the last worker ends: clients connect, wait, and are reset then.
A connection may also arrive between the last one that is taken and the close of the socket: the system drops it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import multiprocessing
import socket
import struct
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors import multiprocess as uvicorn_workers

from nmt.progress import report

IDLE_SECONDS = 0.5
"""Seconds in which a request may arrive on an open connection after the server has begun to end."""

HANDSHAKE_SECONDS = 0.2
"""Seconds that a connection gets to complete its handshake."""

_SO_ATTACH_FILTER = 26  # of Linux; the module `socket` does not name it
_NO_NEW_CONNECTIONS = [  # code, jump if true, jump if false, operand
    (0x30, 0, 0, 13),  # load the byte of a TCP header that holds its flags
    (0x45, 0, 1, 0x02),  # does it have SYN, with which a connection begins?
    (0x06, 0, 0, 0),  # then drop the packet
    (0x06, 0, 0, 0xFFFFFFFF),  # otherwise take all of it
]
"""A classic BPF program (Linux, Documentation/networking/filter.rst)."""


def _say_ending(config: uvicorn.Config) -> None:
    report(f"ending: requests that have begun get up to {config.timeout_graceful_shutdown} s")


class DrainingServer(uvicorn.Server):
    """A server that takes every connection that the system has accepted before it stops to listen."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if multiprocessing.parent_process() is None:  # the supervisor does it for its workers
            _say_ending(self.config)
            drop_new_connections(sockets or ())
        await asyncio.sleep(HANDSHAKE_SECONDS)
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


def drop_new_connections(listeners: Iterable[socket.socket]) -> None:
    """Has the system drop the first packet of each new connection, which its client repeats after a second.

    Only on Linux. Other systems may reset a connection that begins while its server ends.
    """
    if sys.platform != "linux":
        return
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in _NO_NEW_CONNECTIONS))
    program = struct.pack("HP", len(_NO_NEW_CONNECTIONS), ctypes.addressof(code))
    for listener in listeners:
        with contextlib.suppress(OSError):  # a system that looks like Linux
            listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)


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
        drop_new_connections(self.sockets)
        for listener in self.sockets:
            listener.close()
        super().terminate_all()


uvicorn_workers.Server = DrainingServer  # type: ignore[misc]  # workers look their server up there
