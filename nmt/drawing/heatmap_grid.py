"""A grid of small heat maps of any matrices, such as the attention of several heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nmt.drawing.canvas import GENERIC, GRID, INK, QUIET, SMALL, WORD, Floats, PlotError, drawing, style_bar
from nmt.drawing.fonts import find_fonts

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def show_heatmaps(
    matrices: ArrayLike, x_label: str, y_label: str, titles: Sequence[str] | None = None, cmap: str = "Blues"
) -> Figure:
    """Draws a grid of small heat maps that share one colour bar.

    Args:
        matrices: [rows, columns, queries, keys], a heat map of queries by keys for each row and column of the grid.
        x_label: name of the keys' axis.
        y_label: name of the queries' axis.
        titles: one title per column.
        cmap: name of a matplotlib colour map.

    Raises:
        PlotError: another number of dimensions, an empty array, a number that is not finite, an unknown colour map, or
            another number of titles than columns.
    """
    from matplotlib import colormaps

    array = np.asarray(matrices, dtype=float)
    if array.ndim != 4 or array.size == 0:
        raise PlotError(f"matrices have shape {list(array.shape)}: expected [rows, columns, queries, keys], none 0")
    if not np.isfinite(array).all():
        raise PlotError("matrices: expected finite numbers")
    if cmap not in colormaps:
        raise PlotError(f"matplotlib has no colour map '{cmap}': try Blues, viridis or PuOr")
    rows, columns = array.shape[:2]
    if titles is not None and len(titles) != columns:
        raise PlotError(f"{len(titles)} titles for {columns} columns: expected one for each")
    fonts = find_fonts([x_label, y_label, *(titles or [])])
    with drawing():
        return _draw(array, x_label, y_label, titles or [""] * columns, cmap, fonts)


def _draw(array: Floats, x_label: str, y_label: str, titles: Sequence[str], cmap: str, fonts: list[str]) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    rows, columns = array.shape[:2]
    figure = Figure(figsize=(2.2 * columns + 0.9, 2.2 * rows + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    low, high = min(0.0, array.min()), array.max()
    style: dict[str, Any] = {"fontfamily": [*fonts, GENERIC], "parse_math": False, "color": INK, "fontsize": WORD}
    for (row, column), axes in np.ndenumerate(grid):
        image = axes.imshow(array[row, column], cmap=cmap, vmin=low, vmax=high, interpolation="nearest")
        axes.tick_params(labelsize=SMALL, color=QUIET, labelcolor=QUIET)
        axes.spines[:].set_color(GRID)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        if row == 0:
            axes.set_title(titles[column], **style)
        if row == rows - 1:
            axes.set_xlabel(x_label, **style)
        if column == 0:
            axes.set_ylabel(y_label, **style)
    style_bar(figure.colorbar(image, ax=grid, shrink=0.6))
    return figure
