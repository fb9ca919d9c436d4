"""Ctrl-C and termination signals during training."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def interruption() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or termination signal sets; a second Ctrl-C raises KeyboardInterrupt.

    Outside the main thread, where Python accepts no signal handlers, the event is never set.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def request(number: int, frame: object) -> None:
        if event.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        event.set()
        with contextlib.suppress(RuntimeError):  # the signal came while standard error was writing another line
            print("\nnmt: finishing this step, then saving ... (Ctrl-C again: without saving)", file=sys.stderr)

    handlers = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
