"""The heat map of one sentence pair, in a figure of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from nmt.alignment.links import Gold
from nmt.alignment.word_alignment import WordAlignment
from nmt.drawing.canvas import drawing, new_figure
from nmt.drawing.heatmap_painting import HeatMap
from nmt.drawing.picture import Picture, heat_map_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def heatmap(
    alignment: WordAlignment, title: str = "", gold: Gold | None = None, erasure: ArrayLike | None = None
) -> Figure:
    """Draws the attention of target words (rows) on source words (columns).

    The last column, set apart, is the attention on the source's end of sentence. Hard links have an outline. The figure
    is as large as its words need.

    Args:
        alignment: the pair.
        title: printed above, broken into lines.
        gold: links drawn by people, marked inside the cells: a solid line if sure, a broken line if possible.
        erasure: [target words, source words], the fall of the target word's log-probability in nats when the source
            word is erased, drawn beside the attention.

    Raises:
        PlotError: a side has no words or more than `MOST_WORDS`; an erasure matrix has another shape or a number that
            is not finite.
        AlignmentError: a gold link to a word that does not exist.

    Warns:
        UserWarning: no installed font has the glyphs of some script.
    """
    picture = Picture(alignment, title, gold, erasure)
    text = heat_map_text(picture)
    with drawing():
        heat_map = HeatMap(picture, text, compact=False)
        figure = new_figure(heat_map.layout.width, heat_map.layout.height)
        heat_map.draw(figure, 0, 0)
    return figure
