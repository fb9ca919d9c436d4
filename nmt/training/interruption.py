"""Ctrl-C and termination signals during training."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator

MESSAGE = "\nnmt: finishing this step, then saving ... (Ctrl-C again: without saving)"
STANDARD_ERROR = 2
"""The file descriptor."""


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
        try:
            print(MESSAGE, file=sys.stderr)
        except RuntimeError:  # the signal came while standard error was writing another line, and its buffer is locked
            with contextlib.suppress(OSError):
                os.write(STANDARD_ERROR, f"{MESSAGE}\n".encode())

    handlers = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
