"""Heat maps of attention and maps of words, drawn by matplotlib's Agg canvas without a window or pyplot.

Functions import matplotlib when they need it. matplotlib is not thread-safe and takes its style from global settings.
So everything here draws under one lock, with matplotlib's defaults in place of the user's settings. matplotlib 3.11
shapes text in any script: right-to-left words in reading order, Arabic letters joined.
"""

from nmt.drawing.canvas import PlotError, pixels
from nmt.drawing.heatmap_grid import show_heatmaps
from nmt.drawing.heatmaps import draw, heatmap
from nmt.drawing.pdf_pages import heatmap_pages
from nmt.drawing.picture import MOST_WORDS, Picture, drawable
from nmt.drawing.picture_files import check_suffix, save_figure, save_heatmap, save_pages
from nmt.drawing.word_map import Dot, Legend, draw_words

__all__ = [
    "MOST_WORDS",
    "Dot",
    "Legend",
    "Picture",
    "PlotError",
    "check_suffix",
    "draw",
    "draw_words",
    "drawable",
    "heatmap",
    "heatmap_pages",
    "pixels",
    "save_figure",
    "save_heatmap",
    "save_pages",
    "show_heatmaps",
]
