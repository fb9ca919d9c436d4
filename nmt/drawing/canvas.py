"""What every picture is drawn with: one lock, one style, axes in inches, text that is measured before it is placed."""

from __future__ import annotations

import threading
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nmt.errors import NmtError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.floating[Any]]

DPI = 200
FONT = "DejaVu Sans"  # comes with matplotlib
INK, QUIET, FAINT, GRID = "#222222", "#666666", "#999999", "#d9d9d9"
WORD, SMALL, TITLE = 9.0, 7.5, 10.5  # font sizes in points
LONGEST_LABEL = 64  # characters

GENERIC = "sans-serif"
"""The last family of every text, for readers of SVG files who have none of the others."""

_SETTINGS: dict[Any, Any] = {
    "font.sans-serif": [FONT],
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "nmt",
}
LOCK = threading.RLock()


class PlotError(NmtError):
    """Something that cannot be drawn or written; the message says what was expected."""


@contextmanager
def drawing() -> Iterator[None]:
    """One thread at a time, with matplotlib's own defaults and ours over them; the user's settings come back after."""
    import matplotlib

    with LOCK, matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # `find_fonts` says it once
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI)
    FigureCanvasAgg(figure)
    return figure


def inch_axes(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes over a part of a figure, in inches from that part's upper left corner."""
    axes = figure.add_axes(inch_box(figure, left, top, width, height), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return axes


def inch_box(figure: Figure, left: float, top: float, width: float, height: float) -> tuple[float, float, float, float]:
    """A part of a figure, in inches from its upper left corner, as matplotlib wants it."""
    across, down = figure.get_size_inches()
    return left / across, 1 - (top + height) / down, width / across, height / down


def write(axes: Axes, x: float, y: float, text: str, fonts: list[str], size: float = WORD, **style: Any) -> None:
    """Text at a place in inches; `$` and backslash are letters."""
    families = [*fonts, GENERIC]
    axes.text(x, y, text, fontfamily=families, fontsize=size, parse_math=False, **{"color": INK, **style})


def style_bar(bar: Any) -> None:
    """Makes a colour bar as quiet as the rest."""
    bar.outline.set_edgecolor(GRID)
    bar.ax.tick_params(labelsize=SMALL, labelcolor=QUIET, color=QUIET, length=2, pad=2)


def sizes(texts: Sequence[str], fonts: list[str], size: float = WORD) -> Floats:
    """[texts, 2]: width and height of each text in inches."""
    figure = new_figure(1, 1)
    for text in texts:
        figure.text(0, 0, text, fontfamily=[*fonts, GENERIC], fontsize=size, parse_math=False)
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    extents = [text.get_window_extent(renderer) for text in figure.texts]
    return np.array([(extent.width, extent.height) for extent in extents]) / DPI


def label(word: str) -> str:
    """The word as it can be written: no control characters or noncharacters, which a file in SVG must not hold, no byte
    order marks, which matplotlib's PDF stumbles over, and the middle of a very long one left out."""
    visible = "".join("\N{REPLACEMENT CHARACTER}" if _unwritable(c) else c for c in word if c != "\ufeff")
    half = LONGEST_LABEL // 2
    return visible if len(visible) <= LONGEST_LABEL else f"{visible[:half]}…{visible[1 - half :]}"


def _unwritable(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") or ord(character) & 0xFFFE == 0xFFFE


def wrapped(text: str, width: float, fonts: list[str], size: float = TITLE) -> tuple[list[str], float]:
    """Text cut into lines of at most `width` inches, where its words allow, and the width of the widest."""
    words = [label(word) for word in text.split()]
    if not words:
        return [], 0.0
    # A space's own width is that of the letters around it taken away.
    *widths, spaced, close = sizes([*words, "n n", "nn"], fonts, size)[:, 0].tolist()
    lines, filled = [words[0]], [widths[0]]
    for word, needed in zip(words[1:], widths[1:], strict=True):
        if filled[-1] + (spaced - close) + needed <= width:
            lines[-1] += f" {word}"
            filled[-1] += spaced - close + needed
        else:
            lines.append(word)
            filled.append(needed)
    return lines, max(filled)
