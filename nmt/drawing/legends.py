"""Legends of lines whose names users chose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nmt.drawing.canvas import GENERIC, printable
from nmt.drawing.fonts import find_fonts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, MARK = 110, 8
"""Characters of a line of a legend, and those that the mark of a name takes."""


def add_legend(figure: Figure, axes: Axes, names: Sequence[str]) -> None:
    """Adds a legend above the axes of a figure. A name is drawn as it is: `$` and a leading `_` mean nothing.

    Args:
        axes: with a labelled line for each name, in order.
        names: of the lines.
    """
    lines, labels = axes.get_legend_handles_labels()
    shown = [printable(name) for name in names]
    columns = max(1, WIDTH // (MARK + max(map(len, shown))))
    legend = figure.legend(lines, labels, loc="outside upper left", ncols=columns, frameon=False, fontsize=8)
    for text, name in zip(legend.get_texts(), shown, strict=True):
        text.set_parse_math(False)
        text.set_fontfamily([*find_fonts([name]), GENERIC])
        text.set_text(name)
