"""Heat maps of attention, and words on two axes, drawn by matplotlib's Agg canvas: no window, no pyplot, no state
between two figures.

matplotlib is imported by the functions that need it. It is not thread-safe and is styled through global settings, so
everything here draws under one lock, with matplotlib's own defaults in place of the user's settings. Text in any script
is shaped by matplotlib itself (3.11 or newer): right-to-left words in reading order, Arabic letters joined.
"""

from nmt.drawing.canvas import PlotError
from nmt.drawing.heatmap_grid import show_heatmaps
from nmt.drawing.heatmaps import MOST_WORDS, Picture, drawable, heatmap, heatmap_pages
from nmt.drawing.picture_files import check_suffix, save_figure, save_heatmap, save_pages
from nmt.drawing.word_map import Dot, draw_words

__all__ = [
    "MOST_WORDS",
    "Dot",
    "Picture",
    "PlotError",
    "check_suffix",
    "draw_words",
    "drawable",
    "heatmap",
    "heatmap_pages",
    "save_figure",
    "save_heatmap",
    "save_pages",
    "show_heatmaps",
]
