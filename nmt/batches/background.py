"""An iterator that a background thread computes ahead of its consumer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from queue import Empty, Queue
from threading import Event, Thread
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class _End(NamedTuple):
    """The last entry of the queue."""

    error: BaseException | None


def in_background(items: Iterable[T], ahead: int) -> Iterator[T]:
    """The same items, computed by a thread that is at most `ahead` items ahead, plus the one it works on.

    The thread starts with the first item. It ends with the items, or when the consumer stops early: then this generator
    is closed and waits for the item in work. An error of `items` is raised where its item would have come.

    Args:
        items: iterated in the thread only.
        ahead: finished items that wait at most, 1 or more.
    """
    waiting: Queue[T | _End] = Queue(ahead)
    stopped = Event()

    def compute() -> None:
        error = None
        try:
            for item in items:
                waiting.put(item)
                if stopped.is_set():
                    return
        except BaseException as problem:
            error = problem
        waiting.put(_End(error))

    thread = Thread(target=compute, name="background batches", daemon=True)
    thread.start()
    try:
        while not isinstance(item := waiting.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stopped.set()
        _empty(waiting)  # the thread may wait for a place in the queue; now it finds one and then stops
        thread.join()


def _empty(waiting: Queue[T]) -> None:
    while True:
        try:
            waiting.get_nowait()
        except Empty:
            return
