"""The links of two aligners beside each other: which are right, wrong or missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nmt.alignment.links import Gold, Link, Links
from nmt.direction import right_to_left
from nmt.drawing.canvas import (
    FONT,
    GAP,
    GRID,
    LINE,
    PAD,
    QUIET,
    SMALL,
    TITLE,
    WORD,
    PlotError,
    draw_text,
    drawing,
    inch_axes,
    new_figure,
    printable,
    text_sizes,
    wrap,
)
from nmt.drawing.fonts import find_fonts
from nmt.drawing.picture import READABLE_WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 4
"""Pairs of a picture."""

# Inches.
_CELL, _BETWEEN = 0.21, 0.35

# Shapes differ as well as colours, so the picture reads without colours too.
_RIGHT, _WRONG, _MISSING = "#0072b2", "#c04f00", "#222222"
_SQUARES: dict[str, dict[str, Any]] = {
    "right": {"facecolor": _RIGHT, "edgecolor": _RIGHT},
    "missing": {"fill": False, "edgecolor": _MISSING, "linewidth": 1.2},
    "possible": {"fill": False, "edgecolor": QUIET, "linewidth": 0.8, "linestyle": (0, (1.5, 1.5))},
}
_LEGEND = (("right", "right"), ("wrong", "wrong"), ("missing", "missing sure link"), ("possible", "possible link"))


class ComparedPair(NamedTuple):
    """A sentence pair with the links of two aligners."""

    line: int
    source: Sequence[str]
    target: Sequence[str]
    first: Links
    second: Links
    gold: Gold


def link_kinds(links: Links, gold: Gold) -> dict[Link, str]:
    """The kind of each cell that is drawn: right, wrong, missing or possible."""
    possible = gold.possible | gold.sure
    kinds = dict.fromkeys(possible - links, "possible") | dict.fromkeys(gold.sure - links, "missing")
    return kinds | {link: "right" if link in possible else "wrong" for link in links}


def most_different(pairs: Sequence[ComparedPair], shown: int = SHOWN) -> list[ComparedPair]:
    """The pairs in which the numbers of mistakes of the two aligners differ most, in the order of their lines.

    Pairs that are too long to read are left out, and pairs without words on a side.
    """

    def mistakes(links: Links, gold: Gold) -> int:
        return sum(kind in ("wrong", "missing") for kind in link_kinds(links, gold).values())

    readable = [pair for pair in pairs if all(0 < len(side) <= READABLE_WORDS for side in (pair.source, pair.target))]
    ranked = sorted(readable, key=lambda pair: -abs(mistakes(pair.first, pair.gold) - mistakes(pair.second, pair.gold)))
    return sorted(ranked[:shown], key=lambda pair: pair.line)


def draw_link_comparison(pairs: Sequence[ComparedPair], names: Sequence[str]) -> Figure:
    """Draws each pair twice, side by side: target words are rows, source words are columns.

    Args:
        pairs: one or more.
        names: of the two aligners.

    Raises:
        PlotError: no pairs.
    """
    if not pairs:
        raise PlotError("nothing to draw: no pair has words on both sides, and at most 60 of them")
    fonts = find_fonts([*names, *(word for pair in pairs for word in (*pair.source, *pair.target))])
    with drawing():
        layouts = [_Layout(pair, fonts) for pair in pairs]
        width = max(layout.width for layout in layouts)
        titles, widest = wrap(f"Left: {names[0]}. Right: {names[1]}.", width - 2 * PAD, fonts)
        heading = PAD + LINE * len(titles) + GAP
        height = heading + sum(layout.height for layout in layouts) + LINE + PAD
        figure = new_figure(max(width, widest + 2 * PAD, 5.2), height)
        canvas = inch_axes(figure, 0, 0, *figure.get_size_inches())
        for line, text in enumerate(titles):
            draw_text(canvas, PAD, PAD + line * LINE, text, fonts, TITLE, va="top")
        top = heading
        for layout in layouts:
            layout.draw(canvas, top)
            top += layout.height
        _draw_legend(canvas, top + LINE / 2)
        return figure


class _Layout:
    """Measures of a pair, and its drawing."""

    def __init__(self, pair: ComparedPair, fonts: list[str]) -> None:
        self._pair, self._fonts = pair, fonts
        self._source, self._target = [printable(w) for w in pair.source], [printable(w) for w in pair.target]
        self._reversed = right_to_left(pair.source)
        self._header = float(text_sizes(self._source, fonts, WORD)[:, 0].max()) + GAP
        self._labels = float(text_sizes(self._target, fonts, WORD)[:, 0].max()) + 2 * GAP
        self._matrix = _CELL * len(pair.source)
        self.width = 2 * PAD + 2 * (self._labels + self._matrix) + _BETWEEN
        self.height = LINE + self._header + _CELL * len(pair.target) + _BETWEEN

    def draw(self, axes: Axes, top: float) -> None:
        draw_text(axes, PAD, top, f"line {self._pair.line}", [FONT], SMALL, color=QUIET, va="top")
        left = PAD
        for links in (self._pair.first, self._pair.second):
            self._draw_panel(axes, left + self._labels, top + LINE + self._header, links)
            left += self._labels + self._matrix + _BETWEEN

    def _draw_panel(self, axes: Axes, left: float, top: float, links: Links) -> None:
        right, bottom = left + self._matrix, top + _CELL * len(self._target)
        for place in range(len(self._source) + 1):
            axes.plot([left + place * _CELL] * 2, [top, bottom], color=GRID, linewidth=0.5)
        for place in range(len(self._target) + 1):
            axes.plot([left, right], [top + place * _CELL] * 2, color=GRID, linewidth=0.5)
        upright: dict[str, Any] = {"rotation": 90, "rotation_mode": "anchor", "ha": "left", "va": "center_baseline"}
        for place, word in enumerate(self._source):
            draw_text(axes, left + (self._column(place) + 0.5) * _CELL, top - GAP, word, self._fonts, **upright)
        for place, word in enumerate(self._target):
            y = top + (place + 0.5) * _CELL
            draw_text(axes, left - GAP, y, word, self._fonts, ha="right", va="center_baseline")
        for (s, t), kind in sorted(link_kinds(links, self._pair.gold).items()):
            _draw_mark(axes, left + (self._column(s) + 0.5) * _CELL, top + (t + 0.5) * _CELL, kind)

    def _column(self, word: int) -> int:
        """The column of a source word; the first one is on the right in Arabic and Hebrew."""
        return len(self._source) - 1 - word if self._reversed else word


def _draw_mark(axes: Axes, x: float, y: float, kind: str) -> None:
    """A filled square, a cross, or an empty square with a solid or a broken line."""
    from matplotlib.patches import Rectangle

    half = 0.3 * _CELL
    if kind == "wrong":
        for slope in (-1, 1):
            ends = np.array([-half, half])
            axes.plot(x + ends, y + slope * ends, color=_WRONG, linewidth=1.8, solid_capstyle="butt")
        return
    axes.add_patch(Rectangle((x - half, y - half), 2 * half, 2 * half, **_SQUARES[kind]))


def _draw_legend(axes: Axes, y: float) -> None:
    x = PAD + 0.1
    for kind, text in _LEGEND:
        _draw_mark(axes, x, y, kind)
        draw_text(axes, x + 0.14, y, text, [FONT], SMALL, color=QUIET, va="center")
        x += 0.3 + float(text_sizes([text], [FONT], SMALL)[0, 0]) + 0.2
