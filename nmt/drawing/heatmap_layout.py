"""Where everything of one heat map is, before anything is drawn: labels are measured, cells sized after them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nmt.drawing.canvas import SMALL, WORD, Floats, sizes, wrapped

# Inches.
PAD = 0.12
GAP = 0.06  # between labels and cells
LINE = 0.2  # a line of text
BAR = 0.11
KEY = 0.11  # a mark in the legend
READABLE_CELL = 0.36  # has room for a number
_SMALLEST_CELL, _COMPACT_CELL, _LARGEST_CELL, _MATRIX = 0.2, 0.42, 0.5, 6.5
_WIDEST_FLAT_LABEL = 1.0
_BAR_HEIGHTS, _BAR_TEXT = (0.9, 2.4), 0.5

CORNER = ("source →", "target ↓")
_END_LABEL, _END_LABEL_FLAT = "end of sentence", "end of\nsentence"


class Text(NamedTuple):
    """What a picture says, as it is written."""

    source: list[str]
    target: list[str]
    title: str
    attention_title: str
    erasure_title: str
    legend: list[str]
    fonts: list[str]


@dataclass(frozen=True)
class Panel:
    """One matrix."""

    columns: Floats  # edges of the source words' columns
    bar: float  # left edge of the colour bar
    title: list[str]


@dataclass(frozen=True)
class Layout:
    """In inches from the upper left corner."""

    width: float
    height: float
    rows: Floats  # edges of the target words' rows
    attention: Panel
    end_column: Floats  # edges of the column for the end of sentence
    erasure: Panel | None
    flat: bool  # source labels are horizontal
    titles_top: float  # of the panels
    bar_height: float
    title: list[str]

    @property
    def left(self) -> float:
        return float(self.attention.columns[0])

    @property
    def top(self) -> float:
        return float(self.rows[0])

    @property
    def end_label(self) -> str:
        return _END_LABEL_FLAT if self.flat else _END_LABEL


def lay_out(text: Text, erasure: bool, compact: bool) -> Layout:
    """Places the cells of a pair.

    Args:
        text: what is written.
        erasure: whether there is a second matrix, to the right of the first.
        compact: no larger than numbers in the cells need, for many on a page.
    """
    fonts = text.fonts
    across, down = sizes(text.source, fonts), sizes(text.target, fonts)  # each [words, (width, height)]
    cell = _cell_size(across, down, _COMPACT_CELL if compact else _LARGEST_CELL)
    widest = float(across[:, 0].max()) + 2 * GAP
    widest_flat = cell if compact else max(cell, _WIDEST_FLAT_LABEL)
    flat = widest <= widest_flat and widest * len(across) <= _MATRIX
    end_width, end_height = sizes([_END_LABEL_FLAT if flat else _END_LABEL], fonts)[0].tolist()
    header = max(end_height, across[:, 1].max()) if flat else max(end_width, across[:, 0].max())
    edges = (max(cell, widest) if flat else cell) * np.arange(len(across) + 1)
    columns = PAD + max(down[:, 0].max(), sizes(CORNER, fonts, SMALL)[:, 0].max()) + GAP + edges
    # The flat label of the last column is wider than the column.
    overhang = max(0.0, (end_width - 0.8 * cell) / 2 + GAP) if flat else 0.0
    end_column = columns[-1] + max(0.3 * cell, overhang) + np.array([0.0, 0.8 * cell])
    attention = _panel(columns, float(end_column[-1]) + max(LINE, overhang), text.attention_title, fonts)
    second = None
    if erasure:
        columns = attention.bar + BAR + _BAR_TEXT + LINE + edges
        second = _panel(columns, float(columns[-1]) + LINE, text.erasure_title, fonts)
    width = _right(second or attention)
    lines, widest_line = wrapped(text.title, width - 2 * PAD, fonts)
    titles_top = PAD + LINE * len(lines) + (PAD if lines else 0)
    panel_lines = max(len(panel.title) for panel in (attention, second) if panel)
    top = titles_top + LINE * panel_lines + max(float(header), 2 * LINE) + GAP
    rows = top + cell * np.arange(len(down) + 1)
    bar_height = float(np.clip(rows[-1] - top, *_BAR_HEIGHTS))
    legend = KEY + GAP + sizes(text.legend, fonts, SMALL)[:, 0].max() + PAD if text.legend else 0.0
    below = max(rows[-1] + (PAD if text.legend else 0) + LINE * len(text.legend), top + bar_height + PAD)
    return Layout(
        width=max(width, widest_line + 2 * PAD, attention.columns[0] + legend),
        height=float(below) + PAD,
        rows=rows,
        attention=attention,
        end_column=end_column,
        erasure=second,
        flat=flat,
        titles_top=titles_top,
        bar_height=bar_height,
        title=lines,
    )


def _cell_size(across: Floats, down: Floats, largest: float) -> float:
    """Height of a row, and least width of a column: smaller where there are many words, but never less than a line."""
    line = 1.15 * float(max(across[:, 1].max(), down[:, 1].max()))
    share = _MATRIX / max(len(across), len(down))
    return max(float(np.clip(share, _SMALLEST_CELL, largest)), line)


def _panel(columns: Floats, bar: float, title: str, fonts: list[str]) -> Panel:
    room = bar + BAR + _BAR_TEXT - float(columns[0])
    return Panel(columns, bar, wrapped(title, room, fonts, WORD)[0])


def _right(panel: Panel) -> float:
    return panel.bar + BAR + _BAR_TEXT + PAD
