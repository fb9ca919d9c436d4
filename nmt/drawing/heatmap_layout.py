"""The positions of all parts of one heat map, computed before drawing: labels are measured, cells sized after them.

matplotlib's constrained layout does the reverse: it fits cells and labels into a figure of given size. In a trial with
long and short words it cut labels in 8 of 18 pictures, and shrank cells below the size of their numbers. It also cannot
tell the size of a heat map before it is drawn, which filling a page with several of them needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nmt.drawing.canvas import GAP, LINE, PAD, SMALL, WORD, Floats, text_sizes, wrap
from nmt.drawing.picture import HeatMapContent

# Inches.
BAR_WIDTH = 0.11
KEY = 0.11  # a mark in the legend
READABLE_CELL = 0.36  # has room for a number
_SMALLEST_CELL, _COMPACT_CELL, _LARGEST_CELL = 0.2, 0.42, 0.5
_MATRIX = 6.5  # the side of a matrix, where its cells may be as small as that needs
_WIDEST_HORIZONTAL_LABEL = 1.0
_BAR_HEIGHTS, _BAR_TEXT = (0.9, 2.4), 0.5

CORNER, CORNER_RIGHT_TO_LEFT = ("source →", "target ↓"), ("← source", "target ↓")
_END_LABEL, _END_LABEL_HORIZONTAL = "end of sentence", "end of\nsentence"


@dataclass(frozen=True)
class Panel:
    """One matrix with its colour bar."""

    columns: Floats
    """[source words + 1]: the edges of the columns."""
    bar: float
    """The left edge of the colour bar."""
    title: list[str]


@dataclass(frozen=True)
class Layout:
    """Positions in inches from the upper left corner."""

    width: float
    height: float
    rows: Floats
    """[target words + 1]: the edges of the rows."""
    attention: Panel
    end_column: Floats
    """[2]: the edges of the column for the end of sentence."""
    erasure: Panel | None
    horizontal: bool
    """Whether source labels are horizontal."""
    titles_top: float
    """The upper edge of the panels' titles."""
    bar_height: float
    title: list[str]
    left: float
    """The left edge of the cells, or of the space for the label above the first of them."""
    legend_top: float

    @property
    def top(self) -> float:
        return float(self.rows[0])

    @property
    def end_label(self) -> str:
        return _END_LABEL_HORIZONTAL if self.horizontal else _END_LABEL


@dataclass(frozen=True)
class _Columns:
    """The measures of the source words' columns."""

    edges: Floats
    """[source words + 1], the first at 0."""
    horizontal: bool
    end_width: float
    """Of the label for the end of sentence."""
    header: float
    """The height of the labels."""


def lay_out(text: HeatMapContent, compact: bool) -> Layout:
    """Computes the positions of a pair's cells and labels.

    Args:
        text: the heat map; erasure adds a second matrix to the right of the first.
        compact: keeps cells as small as their numbers allow, for many heat maps on a page.
    """
    fonts = text.fonts
    source, target = text_sizes(text.source, fonts), text_sizes(text.target, fonts)  # each [words, (width, height)]
    cell = _cell_size(source, target, _COMPACT_CELL if compact else _LARGEST_CELL)
    measured = _column_sizes(source, cell, compact, fonts)
    row_labels = max(target[:, 0].max(), text_sizes(CORNER, fonts, SMALL)[:, 0].max())
    left = PAD + row_labels + GAP
    # The horizontal label of the end of sentence is wider than its column.
    overhang = max(0.0, (measured.end_width - 0.8 * cell) / 2 + GAP) if measured.horizontal else 0.0
    end_column, space = np.array([0.0, 0.8 * cell]), max(0.3 * cell, overhang)
    if text.right_to_left:  # the sentence ends on the left
        end_column = end_column + left + overhang
        columns = end_column[-1] + space + measured.edges
        bar = float(columns[-1]) + LINE
    else:
        columns = left + measured.edges
        end_column = end_column + columns[-1] + space
        bar = float(end_column[-1]) + max(LINE, overhang)
    attention = _panel(columns, bar, text.attention_title, fonts)
    second = None
    if text.erasure is not None:
        columns = attention.bar + BAR_WIDTH + _BAR_TEXT + LINE + measured.edges
        second = _panel(columns, float(columns[-1]) + LINE, text.erasure_title, fonts)
    width = _right(second or attention)
    title, title_width = wrap(text.title, width - 2 * PAD, fonts)
    titles_top = PAD + LINE * len(title) + (PAD if title else 0)
    panel_lines = max(len(panel.title) for panel in (attention, second) if panel)
    top = titles_top + LINE * panel_lines + max(measured.header, 2 * LINE) + GAP
    rows = top + cell * np.arange(len(target) + 1)
    bar_height = float(np.clip(rows[-1] - top, *_BAR_HEIGHTS))
    legend = [explanation for _, explanation in text.legend]
    legend_width = KEY + GAP + text_sizes(legend, fonts, SMALL)[:, 0].max() + PAD if legend else 0.0
    beside_bar = left + legend_width < attention.bar - GAP
    legend_top = PAD + float(rows[-1] if beside_bar else max(rows[-1], top + bar_height))
    bottom = max(rows[-1], top + bar_height + PAD, legend_top + LINE * len(legend) if legend else 0)
    return Layout(
        width=max(width, title_width + 2 * PAD, left + legend_width),
        height=float(bottom) + PAD,
        rows=rows,
        attention=attention,
        end_column=end_column,
        erasure=second,
        horizontal=measured.horizontal,
        titles_top=titles_top,
        bar_height=bar_height,
        title=title,
        left=float(left),
        legend_top=legend_top,
    )


def _cell_size(source: Floats, target: Floats, largest: float) -> float:
    """The height of a row and least width of a column: smaller where words are many, but at least a line of text."""
    line = 1.15 * float(max(source[:, 1].max(), target[:, 1].max()))
    share = _MATRIX / max(len(source), len(target))
    return max(float(np.clip(share, _SMALLEST_CELL, largest)), line)


def _column_sizes(source: Floats, cell: float, compact: bool, fonts: list[str]) -> _Columns:
    """Labels are horizontal where all of them are short and fit side by side."""
    widest = float(source[:, 0].max()) + 2 * GAP
    limit = cell if compact else max(cell, _WIDEST_HORIZONTAL_LABEL)
    horizontal = widest <= limit and widest * len(source) <= _MATRIX
    end_width, end_height = text_sizes([_END_LABEL_HORIZONTAL if horizontal else _END_LABEL], fonts)[0].tolist()
    header = max(end_height, source[:, 1].max()) if horizontal else max(end_width, source[:, 0].max())
    edges = (max(cell, widest) if horizontal else cell) * np.arange(len(source) + 1)
    return _Columns(edges, horizontal, end_width, float(header))


def _panel(columns: Floats, bar: float, title: str, fonts: list[str]) -> Panel:
    width = bar + BAR_WIDTH + _BAR_TEXT - float(columns[0])
    return Panel(columns, bar, wrap(title, width, fonts, WORD)[0])


def _right(panel: Panel) -> float:
    return panel.bar + BAR_WIDTH + _BAR_TEXT + PAD
