"""Where the two sides of a text come apart: lengths of sentences that are no translations have nothing in common."""

from __future__ import annotations

import math
from collections.abc import Sized

WINDOW = 500
"""Pairs of one judgement."""
_FEWEST = 300
"""Pairs that are enough for a judgement at the end of a text."""
_CORRELATED = 0.15
"""Windows of translations have a correlation of 0.4 to 0.9, and windows with shifted lines one below 0.14."""
_ALIKE = 0.15
"""Standard deviation of the logarithms of lengths below which a side is too even to be judged, as in sorted text."""


class SideLengths:
    """Compares the lengths of sources and targets, window by window, while pairs pass.

    The measure is Pearson's correlation of the logarithms of the lengths.
    """

    def __init__(self) -> None:
        self.apart: list[list[int]] = []
        """First row, last row and number of windows whose lengths do not correlate; adjacent windows are joined."""
        self.others = 0
        """Windows whose lengths correlate, or vary too little."""
        self._window: list[tuple[float, float]] = []
        self._first = 1
        self._last = 0

    def add(self, row: int, source: Sized, target: Sized) -> None:
        """Adds the pair of a row, in characters or in bytes; rows count from 1."""
        self._last = row
        self._window.append((math.log1p(len(source)), math.log1p(len(target))))
        if len(self._window) == WINDOW:
            self._judge()

    def finish(self) -> None:
        """Judges the last pairs."""
        if len(self._window) >= _FEWEST:
            self._judge()

    def _judge(self) -> None:
        correlation = correlation_of(self._window)
        if correlation is not None and correlation < _CORRELATED:
            join_windows(self.apart, self._first, self._last, 1)
        else:
            self.others += 1
        self._first = self._last + 1
        self._window = []


def correlation_of(lengths: list[tuple[float, float]]) -> float | None:
    """Pearson's correlation of the pairs; None if a side varies too little."""
    sources, targets = zip(*lengths, strict=True)
    source, target = sum(sources) / len(sources), sum(targets) / len(targets)
    deviations = [(one - source, other - target) for one, other in lengths]
    squares = math.fsum(one * one for one, _ in deviations), math.fsum(other * other for _, other in deviations)
    if min(squares) < len(lengths) * _ALIKE**2:
        return None
    return math.fsum(one * other for one, other in deviations) / math.sqrt(squares[0] * squares[1])


def join_windows(apart: list[list[int]], first: int, last: int, windows: int) -> None:
    """Adds windows of rows, joined with the last ones if no whole window is between them."""
    if apart and first - apart[-1][1] <= WINDOW:
        apart[-1][1:] = last, apart[-1][2] + windows
    else:
        apart.append([first, last, windows])


def shifted_rows(apart: list[list[int]], others: int, rows: int) -> str:
    """A question about rows whose sides seem to be no translations of each other; empty: there are none.

    One window alone is no reason to ask, unless the text has no other.

    Args:
        apart, others: see `SideLengths`.
        rows: of the text.
    """
    first, last, windows = max(apart, key=lambda one: one[2], default=(0, 0, 0))
    if windows < (2 if others else 1):
        return ""
    if not others:
        return (
            "the lengths of sources and targets are unrelated: does each line translate the same line of the other "
            "file, from the first line on?"
        )
    span = f"about pair {first:,} " + (f"to {last:,}" if last + WINDOW < rows else "on")
    return f"the lengths of sources and targets are unrelated from {span}: is a line missing or doubled in one file?"
