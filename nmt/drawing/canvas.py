"""The drawing surface of every picture: one lock, one style, axes in inches, text measured before it is placed."""

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
Colour = str | tuple[float, ...]
"""A name such as #222222, or the shares of red, green and blue from 0 to 1, and perhaps the opacity."""

DPI = 200
FONT = "DejaVu Sans"  # comes with matplotlib
GENERIC = "sans-serif"
"""The last font family of every text, for readers of SVG files who have none of the others."""

INK, QUIET, FAINT, GRID = "#222222", "#666666", "#999999", "#d9d9d9"
WORD, SMALL, TITLE = 9.0, 7.5, 10.5  # font sizes in points
PAD, GAP, LINE = 0.12, 0.06, 0.2  # inches: around a picture, between labels and cells, per line of text
LONGEST_LABEL = 64  # characters

_SETTINGS: dict[Any, Any] = {
    "font.sans-serif": [FONT],
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "nmt",
}
LOCK = threading.RLock()


class PlotError(NmtError):
    """A picture that cannot be drawn or written; the message says what was expected."""


@contextmanager
def drawing() -> Iterator[None]:
    """Lets one thread draw at a time, with matplotlib's defaults and our style; restores the user's settings after."""
    import matplotlib

    with LOCK, matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # `find_fonts` warns once instead
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI)
    FigureCanvasAgg(figure)
    return figure


def pixels(figure: Figure) -> NDArray[np.uint8]:
    """The figure as an image, uint8 [height, width, 4]."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    with drawing():
        canvas.draw()
        return np.array(canvas.buffer_rgba())


def inch_axes(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes over a part of a figure; their coordinates are inches from the upper left corner of that part."""
    axes = figure.add_axes(inch_box(figure, left, top, width, height), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return axes


def inch_box(figure: Figure, left: float, top: float, width: float, height: float) -> tuple[float, float, float, float]:
    """Converts a box in inches from the upper left corner of a figure to matplotlib's fractions."""
    across, down = figure.get_size_inches()
    return left / across, 1 - (top + height) / down, width / across, height / down


def draw_text(axes: Axes, x: float, y: float, text: str, fonts: list[str], size: float = WORD, **style: Any) -> None:
    """Draws text at a position in inches. `$` and backslash are ordinary characters."""
    families = [*fonts, GENERIC]
    axes.text(x, y, text, fontfamily=families, fontsize=size, parse_math=False, **{"color": INK, **style})


def contrast(one: Colour, other: Colour) -> float:
    """The contrast of two opaque colours, from 1 to 21 (Web Content Accessibility Guidelines 2.2, "contrast ratio")."""
    darker, lighter = sorted(map(_luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Colour) -> float:
    """From 0 for black to 1 for white (Web Content Accessibility Guidelines 2.2, "relative luminance")."""
    from matplotlib.colors import to_rgb

    shares: Floats = np.array(to_rgb(colour))  # type: ignore[arg-type]
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def style_bar(bar: Any) -> None:
    """Draws a colour bar in muted colours and small type."""
    bar.outline.set_edgecolor(GRID)
    bar.ax.tick_params(labelsize=SMALL, labelcolor=QUIET, color=QUIET, length=2, pad=2)


def text_sizes(texts: Sequence[str], fonts: list[str], size: float = WORD) -> Floats:
    """[texts, 2]: width and height of each text in inches."""
    figure = new_figure(1, 1)
    for text in texts:
        figure.text(0, 0, text, fontfamily=[*fonts, GENERIC], fontsize=size, parse_math=False)
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    extents = [text.get_window_extent(renderer) for text in figure.texts]
    return np.array([(extent.width, extent.height) for extent in extents]) / DPI


def printable(word: str) -> str:
    """The word as a picture can show it.

    Control characters and noncharacters, which an SVG file must not contain, become replacement characters. Byte order
    marks, which matplotlib's PDF writer fails on, are left out. A very long word loses its middle.
    """
    visible = "".join("\N{REPLACEMENT CHARACTER}" if _is_unprintable(c) else c for c in word if c != "\ufeff")
    half = LONGEST_LABEL // 2
    return visible if len(visible) <= LONGEST_LABEL else f"{visible[:half]}…{visible[1 - half :]}"


def _is_unprintable(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") or ord(character) & 0xFFFE == 0xFFFE


def wrap(text: str, width: float, fonts: list[str], size: float = TITLE) -> tuple[list[str], float]:
    """Breaks text between words into lines of at most `width` inches.

    Returns:
        The lines, and the width of the widest: more than `width` where a single word is wider.
    """
    words = [printable(word) for word in text.split()]
    if not words:
        return [], 0.0
    *widths, spaced, close = text_sizes([*words, "n n", "nn"], fonts, size)[:, 0].tolist()
    space = spaced - close  # a space alone has no measurable width
    lines, filled = [words[0]], [widths[0]]
    for word, needed in zip(words[1:], widths[1:], strict=True):
        if filled[-1] + space + needed <= width:
            lines[-1] += f" {word}"
            filled[-1] += space + needed
        else:
            lines.append(word)
            filled.append(needed)
    return lines, max(filled)
