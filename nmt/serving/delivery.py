"""Results of the threads of a server, brought to its event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from concurrent.futures import Future
from typing import Any


class Delivery:
    """Brings the results of futures of threads to an event loop: all that are ready at once.

    `asyncio.wrap_future` wakes the loop for each result. A batch has many results, and each time that the loop wakes it
    holds up the thread that sets the others.

    Args:
        loop: of the coroutines that wait.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ready: deque[tuple[Future[Any], asyncio.Future[Any]]] = deque()
        self._awake = False

    def result_of(self, future: Future[Any]) -> asyncio.Future[Any]:
        """A future of the loop with the result of a future of a thread. Cancelling it leaves the other one alone."""
        waiter: asyncio.Future[Any] = self.loop.create_future()
        future.add_done_callback(lambda done: self._send(done, waiter))
        return waiter

    def _send(self, done: Future[Any], waiter: asyncio.Future[Any]) -> None:
        self._ready.append((done, waiter))
        if not self._awake:
            self._awake = True
            with contextlib.suppress(RuntimeError):  # the loop has ended, so nobody waits
                self.loop.call_soon_threadsafe(self._hand_over)

    def _hand_over(self) -> None:
        self._awake = False  # first, so that a result from now on wakes the loop again
        while self._ready:
            done, waiter = self._ready.popleft()
            if waiter.done():  # its client went away
                continue
            if done.cancelled():
                waiter.cancel()
            elif error := done.exception():
                waiter.set_exception(error)
            else:
                waiter.set_result(done.result())
