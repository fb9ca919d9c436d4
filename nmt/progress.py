"""Progress on standard error: on a terminal a line that renews itself (drawn by tqdm), in a log a line now and then.

tqdm alone would fill a log with one overwritten line, and its rate knows nothing of lines that become ready together.
So this module decides when to show which text, and tqdm draws it: the bar, the width of the terminal, several renewed
lines below each other, and messages above them. Nothing is coloured. tqdm is imported when the first line is drawn.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from threading import RLock
from typing import TYPE_CHECKING, TextIO, TypeVar

if TYPE_CHECKING:
    from tqdm.std import tqdm

T = TypeVar("T")

TERMINAL_DELAY, TERMINAL_INTERVAL = 2.0, 0.5
"""Seconds before the first line on a terminal, and between two lines."""
LOG_INTERVAL = 10.0
"""Seconds before the first line in a log, and between two lines."""
BAR = "nmt: {percentage:3.0f}% {bar:20} "
"""tqdm's format of a bar in front of the text."""

_drawn: set[tqdm] = set()
"""The renewed lines that are on a terminal now."""


def counted(number: int, unit: str) -> str:
    """A number with its unit, such as "1 line" and "2,000 lines"; the unit's plural ends in s, or in es after tch."""
    plural = f"{unit}es" if unit.endswith("tch") else f"{unit}s"
    return f"{number:,} {unit if number == 1 else plural}"


def report(message: str, stream: TextIO | None = None) -> None:
    """Prints a line that stays, above the renewed lines.

    Args:
        message: the line without its prefix.
        stream: where to; None: standard error.
    """
    text, stream = f"nmt: {message}", sys.stderr if stream is None else stream
    if not _drawn:
        print(text, file=stream, flush=True)
        return
    from tqdm.std import tqdm

    tqdm.write(text, file=stream)


def remove_status_lines() -> None:
    """Removes all renewed lines from the terminal, for an error message that ends the program."""
    for line in list(_drawn):
        _remove(line)


class StatusLine:
    """A line about the state of some work: often renewed on a terminal, seldom printed in a log.

    Args:
        stream: where to; None: standard error.
        clock: seconds from any starting point.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._terminal = self._stream.isatty()
        self._started = clock()
        self._due = self._started + (TERMINAL_DELAY if self._terminal else LOG_INTERVAL)
        self._line: tqdm | None = None
        self._lock = RLock()

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._started

    def show(self, text: Callable[[], str], now: bool | None = None) -> None:
        """Shows the line if it is due.

        Args:
            text: computes the line without its prefix; called only when the line is shown.
            now: whether the line is due in a log; None: every `LOG_INTERVAL` seconds. A terminal ignores it.
        """
        if self._terminal or now is None:
            now = self._clock() >= self._due
        if not now:
            return
        with self._lock:
            self._due = self._clock() + (TERMINAL_INTERVAL if self._terminal else LOG_INTERVAL)
            if self._terminal:
                self._draw(text())
            else:
                print(f"nmt: {text()}", file=self._stream, flush=True)

    def print(self, message: str) -> None:
        """Prints a line that stays, in place of the renewed line."""
        self.clear()
        report(message, self._stream)

    def clear(self) -> None:
        """Removes the renewed line."""
        with self._lock:
            if self._line is not None:
                _remove(self._line)
                self._line = None

    def _draw(self, text: str) -> None:
        if self._line is None or self._line not in _drawn:
            self._line = _new_line(self._stream)
        self._line.set_description_str(self._fitted(text, self._line.format_dict["ncols"]))

    def _fitted(self, text: str, columns: int | None) -> str:
        """The line with its prefix, cut to the width of the terminal."""
        from tqdm.utils import disp_trim

        return disp_trim(f"nmt: {text}", columns) if columns else f"nmt: {text}"


class LineProgress(StatusLine):
    """Counts lines, or other items, and shows their number, rate and time left. Any thread may `advance` it.

    Args:
        total: number of lines to come; None: unknown.
        stream, clock: as in `StatusLine`.
        window: lines that become ready together. The first line of a window counts for all of them.
        task: the work, as a prefix of the line, such as "reading FILE"; empty: none.
        unit: the name of the items.
    """

    def __init__(
        self,
        total: int | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        window: int = 1,
        task: str = "",
        unit: str = "lines",
    ) -> None:
        super().__init__(stream, clock)
        self.total, self.window, self.unit = total, window, unit
        self._prefix = f"{task}: " if task else ""
        self.count = 0
        """Lines that `over` has handed on."""
        self._done = 0

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The same items, counted as they are handed on."""
        for item in items:
            self.count += 1
            yield item
            self.show(self._text)
        self.total = self.count
        self.clear()

    def advance(self, lines: int) -> None:
        """Counts lines that are done before `over` hands them on."""
        with self._lock:
            self._done += lines
            self.show(self._text)

    @property
    def done(self) -> int:
        """Lines that `advance` has counted."""
        return self._done

    @property
    def speed(self) -> str:
        """Items per second since the beginning, with their unit."""
        return f"{self._ready / max(self.seconds, 1e-9):,.1f} {self.unit}/s"

    @property
    def _ready(self) -> int:
        """Lines that are done: handed on, in a window with such a line, or counted by `advance`."""
        windows = -(-self.count // self.window) * self.window
        ready = max(windows, self._done)
        return ready if self.total is None else min(ready, self.total)

    def _text(self) -> str:
        if self.total is None:
            return f"{self._prefix}{self._ready:,} {self.unit}, {self.speed}"
        left = self.seconds / max(self._ready, 1) * (self.total - self._ready)
        return f"{self._prefix}{self._ready:,} of {self.total:,} {self.unit}, {self.speed}, {duration(left)} left"

    def _fitted(self, text: str, columns: int | None) -> str:
        if self.total is None:
            return super()._fitted(text, columns)
        from tqdm.std import tqdm

        simple = not (getattr(self._stream, "encoding", None) or "utf-8").lower().startswith("utf")
        return tqdm.format_meter(
            self._ready, self.total, self.seconds, columns, ascii=simple, bar_format=BAR + _escaped(text)
        )


def _new_line(stream: TextIO) -> tqdm:
    """A renewed line at the bottom of the terminal."""
    from tqdm.std import tqdm

    class RenewedLine(tqdm):
        monitor_interval = 0  # no thread that watches over the intervals: they are ours

    if not hasattr(tqdm, "_lock"):
        tqdm.set_lock(RLock())  # tqdm's default lock is for several processes, and takes longer to make
    line = RenewedLine(file=stream, leave=False, dynamic_ncols=True, bar_format="{desc}")
    _drawn.add(line)
    return line


def _remove(line: tqdm) -> None:
    _drawn.discard(line)
    line.close()


def _escaped(text: str) -> str:
    """The text as a part of a format."""
    return text.replace("{", "{{").replace("}", "}}")


def duration(seconds: float) -> str:
    """Seconds as minutes:seconds, or hours:minutes:seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
