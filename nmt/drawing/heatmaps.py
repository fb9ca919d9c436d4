"""The heat map of one sentence pair, in a figure of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from nmt.alignment.hard_links import DEFAULT_LINKING, Linking
from nmt.alignment.links import Gold
from nmt.alignment.word_alignment import WordAlignment
from nmt.drawing.canvas import drawing, new_figure
from nmt.drawing.heatmap_painting import HeatMap
from nmt.drawing.picture import Aligned, Picture, alignment_of, heat_map_contents

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def heatmap(
    alignment: WordAlignment | Aligned,
    title: str = "",
    gold: Gold | None = None,
    erasure: ArrayLike | None = None,
    linking: Linking = DEFAULT_LINKING,
    merged: str = "",
) -> Figure:
    """Draws the attention of target words (rows) on source words (columns).

    The last column, set apart, is the attention on the source's end of sentence. Columns run from right to left where
    the source does. Hard links have an outline, and the share of attention that made them. The figure is as large as
    its words need. A pair of more than `READABLE_WORDS` words on a side is drawn in several heat maps, side by side.

    Args:
        alignment: the pair, or its translation.
        title: printed above, broken into lines.
        gold: links drawn by people, marked inside the cells: a solid line if sure, a broken line if possible.
        erasure: [target words, source words], the fall of the target word's log-probability in nats when the source
            word is erased, drawn beside the attention.
        linking: the rule of the links, which the legend names if the links are those of this rule.
        merged: the method that merged the links of two models, for the legend.

    Raises:
        PlotError: no alignment; a side has no words or more than `MOST_WORDS`; an erasure matrix has another shape or a
            number that is not finite.
        AlignmentError: a gold link to a word that does not exist.

    Warns:
        UserWarning: no installed font has the glyphs of some script.
    """
    return draw(Picture(alignment_of(alignment), title, gold, erasure, linking, merged))


def draw(picture: Picture) -> Figure:
    """The figure of `heatmap`."""
    contents = heat_map_contents(picture)
    with drawing():
        return _side_by_side([HeatMap(content, compact=False) for content in contents])


def _side_by_side(heat_maps: list[HeatMap]) -> Figure:
    """Heat maps in rows of about as many as there are rows, left to right and down."""
    across = math.ceil(math.sqrt(len(heat_maps)))
    rows = [heat_maps[begin : begin + across] for begin in range(0, len(heat_maps), across)]
    heights = [max(one.layout.height for one in row) for row in rows]
    figure = new_figure(max(sum(one.layout.width for one in row) for row in rows), sum(heights))
    for number, row in enumerate(rows):
        left = 0.0
        for one in row:
            one.draw(figure, left, sum(heights[:number]))
            left += one.layout.width
    return figure
