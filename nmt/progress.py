"""How far something is, on standard error: one line that renews itself on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import TextIO, TypeVar

T = TypeVar("T")

TERMINAL_DELAY, TERMINAL_INTERVAL = 2.0, 0.5
LOG_INTERVAL = 10.0


class StatusLine:
    """A line about how things stand, shown often on a terminal and seldom in a log, and lines that stay.

    Args:
        stream: where to; None: standard error.
        clock: seconds, for tests.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._terminal = self._stream.isatty()
        self._started = clock()
        self._due = self._started + (TERMINAL_DELAY if self._terminal else LOG_INTERVAL)

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return self._clock() - self._started

    def show(self, line: Callable[[], str], now: bool | None = None) -> None:
        """Shows the line if it is time: on a terminal twice a second, elsewhere every ten seconds or when `now`."""
        if self._terminal or now is None:
            now = self._clock() >= self._due
        if not now:
            return
        self._due = self._clock() + (TERMINAL_INTERVAL if self._terminal else LOG_INTERVAL)
        start, end = ("\r", "\x1b[K") if self._terminal else ("", "\n")
        print(f"{start}nmt: {line()}", end=end, file=self._stream, flush=True)

    def print(self, message: str) -> None:
        """A line of its own that stays."""
        self.clear()
        print(f"nmt: {message}", file=self._stream, flush=True)

    def clear(self) -> None:
        """Takes the renewed line away."""
        if self._terminal:
            print("\r\x1b[K", end="", file=self._stream, flush=True)


class LineProgress(StatusLine):
    """Counts lines and says now and then how many, how fast, and how long it will take.

    Args:
        total: lines to come, where that is known.
        stream, clock: as in `StatusLine`.
        window: lines that are ready at once; the first of a window stands for all of them.
    """

    def __init__(
        self,
        total: int | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        window: int = 1,
    ) -> None:
        super().__init__(stream, clock)
        self.total, self.window = total, window
        self.count = 0
        self._done, self._lock = 0, Lock()

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The same items, counted as they are handed on."""
        for item in items:
            self.count += 1
            yield item
            self.show(self._line)
        self.total = self.count
        self.clear()

    def advance(self, lines: int) -> None:
        """So many more lines are done, long before they are handed on. Any thread may say so."""
        with self._lock:
            self._done += lines
            self.show(self._line)

    def _line(self) -> str:
        if self.total is None:
            return f"{self._ready} lines, {self.speed}"
        left = self.seconds / self._ready * (self.total - self._ready)
        return f"{self._ready} of {self.total} lines, {self.speed}, {duration(left)} left"

    @property
    def _ready(self) -> int:
        """Lines that are done, whether handed on yet or not."""
        windows = -(-self.count // self.window) * self.window
        ready = max(windows, self._done)
        return ready if self.total is None else min(ready, self.total)

    @property
    def speed(self) -> str:
        """Lines a second so far."""
        return f"{self._ready / max(self.seconds, 1e-9):.1f} lines/s"


def duration(seconds: float) -> str:
    """Seconds as minutes:seconds, or hours:minutes:seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
