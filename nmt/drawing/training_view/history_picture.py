"""The charts of a training as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nmt.drawing.canvas import GENERIC, GRID, INK, QUIET, SMALL, WORD, drawing, new_figure, printable
from nmt.drawing.fonts import find_fonts
from nmt.drawing.training_view.charts import Chart, format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#8a8f98", "#0b6fb8")
"""Of training and of validation. A curve that is alone has the second."""
BEST = "#c04f00"
_COLUMNS, _WIDTH, _HEIGHT, _TITLE = 3, 3.3, 2.2, 0.3  # charts in a row; inches of a chart, and of the title


def draw_history(charts: Sequence[Chart], title: str, best: int | None = None) -> Figure:
    """Draws charts over the steps; a line marks the step of the best weights.

    Args:
        charts: from `charts_of`, at least one.
        title: printed above.
        best: the step of the best weights.
    """
    rows = -(-len(charts) // _COLUMNS)
    columns = min(_COLUMNS, len(charts))
    fonts = find_fonts([title])
    with drawing():
        width, height = columns * _WIDTH, rows * _HEIGHT + _TITLE
        figure = new_figure(width, height)
        for number, chart in enumerate(charts):
            left, row = (number % _COLUMNS) * _WIDTH, number // _COLUMNS
            low = height - _TITLE - (row + 1) * _HEIGHT
            box = (left + 0.65) / width, (low + 0.45) / height, (_WIDTH - 0.8) / width, (_HEIGHT - 0.75) / height
            _draw_chart(figure.add_axes(box), chart, best)
        style: dict[str, Any] = {"fontfamily": [*fonts, GENERIC], "fontsize": WORD + 1, "parse_math": False}
        figure.text(0.15 / width, 1 - 0.15 / height, printable(title), va="top", color=INK, **style)
    return figure


def _draw_chart(axes: Axes, chart: Chart, best: int | None) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    colours = COLOURS if len(chart.curves) > 1 else COLOURS[1:]
    for curve, colour in zip(chart.curves, colours, strict=False):
        xs, ys = zip(*curve.points, strict=True)
        axes.plot(xs, ys, "-", color=colour, linewidth=1.3, marker="o", markersize=2.5, label=curve.name)
    if best is not None:
        axes.axvline(best, color=BEST, linewidth=0.8, linestyle="--", label="best")
    axes.set_title(chart.title, fontsize=WORD, color=INK, loc="left")
    axes.set_xlabel("step", fontsize=SMALL, color=QUIET, labelpad=1)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    steps = {x for curve in chart.curves for x, _ in curve.points}
    if len(steps) == 1:
        axes.set_xlim(min(steps) - 1, min(steps) + 1)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_number(value)))
    axes.tick_params(labelsize=SMALL, color=GRID, labelcolor=QUIET)
    axes.grid(color=GRID, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GRID)
    if len(chart.curves) > 1:
        # Beside the title: matplotlib's search for a free place takes long where there are many points.
        axes.legend(
            loc="lower right",
            bbox_to_anchor=(1, 1),
            borderaxespad=0.1,
            ncols=3,
            handlelength=1.2,
            handletextpad=0.4,
            columnspacing=0.9,
            frameon=False,
            fontsize=SMALL,
            labelcolor=QUIET,
        )
