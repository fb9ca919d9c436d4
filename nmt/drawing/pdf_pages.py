"""Pages with as many heat maps as fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from nmt.drawing.canvas import drawing, new_figure
from nmt.drawing.heatmap_painting import HeatMap
from nmt.drawing.picture import Picture, heat_map_contents

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = (16.54, 23.39)
"""Width and height of a page in inches: A2 has room for about six sentences and stays readable when printed on A3."""
MARGIN, SPACE = 0.5, 0.3
"""Inches around a page, and between its heat maps."""


class PlacedHeatMap(NamedTuple):
    """A heat map with the position of its upper left corner on a page, in inches."""

    heat_map: HeatMap
    left: float
    top: float
    begins_page: bool


def heatmap_pages(pictures: Iterable[Picture]) -> Iterator[Figure]:
    """Draws heat maps in their order, as many on each page as fit, left to right and down.

    Pages are A2. A heat map that is larger gets a page of its own size.

    Raises:
        PlotError, AlignmentError: see `heatmap`.
    """
    page: list[PlacedHeatMap] = []
    for placed in place_on_pages(_laid_out(pictures)):
        if placed.begins_page and page:
            yield _draw_page(page)
            page = []
        page.append(placed)
    if page:
        yield _draw_page(page)


def _laid_out(pictures: Iterable[Picture]) -> Iterator[HeatMap]:
    for picture in pictures:
        for content in heat_map_contents(picture):
            with drawing():
                heat_map = HeatMap(content, compact=True)
            yield heat_map


def place_on_pages(heat_maps: Iterable[HeatMap]) -> Iterator[PlacedHeatMap]:
    """Fills rows from the left, and pages from the top."""
    left = top = MARGIN
    row_height = 0.0
    begins_page = True
    for heat_map in heat_maps:
        width, height = heat_map.layout.width, heat_map.layout.height
        if left > MARGIN and left + width > PAGE[0] - MARGIN:
            left, top, row_height = MARGIN, top + row_height + SPACE, 0.0
        alone = width > PAGE[0] - 2 * MARGIN or height > PAGE[1] - 2 * MARGIN
        if begins_page or alone or top + height > PAGE[1] - MARGIN:
            left, top, row_height, begins_page = MARGIN, MARGIN, 0.0, True
        yield PlacedHeatMap(heat_map, left, top, begins_page)
        left, row_height, begins_page = left + width + SPACE, max(row_height, height), alone


def _draw_page(page: list[PlacedHeatMap]) -> Figure:
    width = max(placed.left + placed.heat_map.layout.width for placed in page) + MARGIN
    height = max(placed.top + placed.heat_map.layout.height for placed in page) + MARGIN
    with drawing():
        figure = new_figure(max(width, PAGE[0]), max(height, PAGE[1]))
        for placed in page:
            placed.heat_map.draw(figure, placed.left, placed.top)
    return figure
