"""Jobs on blocks of rows, in processes of their own. They end when the process that started them ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from nmt.errors import NmtError

T = TypeVar("T")
R = TypeVar("R")

_WAITING = 2
"""Jobs for each process that wait or are in work."""
_WATCH_SECONDS = 1.0

_state: Any = None
"""The state of this process's jobs."""


class Workers:
    """Processes that do jobs with a state that each of them makes once. One process is this one.

    Args:
        pool: None: this process does the jobs.
        processes: of the pool.
    """

    def __init__(self, pool: ProcessPoolExecutor | None, processes: int, state: Any) -> None:
        self._pool, self._most, self._own_state = pool, _WAITING * processes, state

    def results(self, work: Callable[[Any, T], R], jobs: Iterable[T]) -> Iterator[R]:
        """The results of the jobs in order. Few jobs are made ahead of the processes.

        Args:
            work: a function of a module, which takes the state and a job.

        Raises:
            NmtError: a process was killed.
        """
        if self._pool is None:
            yield from (work(self._own_state, job) for job in jobs)
            return
        waiting: deque[Future[R]] = deque()
        try:
            for job in jobs:
                waiting.append(self._pool.submit(_do, work, job))
                if len(waiting) >= self._most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise NmtError(
                "a process of the preparation was killed, perhaps because memory is short: repeat the command to go "
                "on, with fewer --processes"
            ) from None


@contextmanager
def started(processes: int, make_state: Callable[..., Any], *arguments: Any) -> Iterator[Workers]:
    """Processes for jobs; on leaving the block the jobs that wait are given up.

    Args:
        processes: 1 or more.
        make_state: a function of a module; each process calls it once.
    """
    if processes == 1:
        yield Workers(None, 1, make_state(*arguments))
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy threads and locks of libraries
    pool = ProcessPoolExecutor(processes, context, _begin, (os.getpid(), make_state, arguments))
    try:
        yield Workers(pool, processes, None)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin(parent: int, make_state: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    global _state
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, and the first one ends the others
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    _state = make_state(*arguments)


def _watch(parent: int) -> None:
    """Ends this process when its parent has been killed."""
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)


def _do(work: Callable[[Any, Any], Any], job: Any) -> Any:
    return work(_state, job)
