"""A map of words: dots on two axes, each with its name where there is room.

Names are placed one after the other, each at the first free position beside its dot. adjustText was tried in place of
this: on a map of the demo's 60 most frequent words its names lay on dots, and a reproducible result took 7 seconds
instead of 0.1. It also draws every name, so the names of 60 random points still overlapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nmt.drawing.canvas import (
    GAP,
    GRID,
    LINE,
    PAD,
    QUIET,
    SMALL,
    TITLE,
    Floats,
    PlotError,
    draw_text,
    drawing,
    inch_axes,
    new_figure,
    printable,
    text_sizes,
    wrap,
)
from nmt.drawing.fonts import find_fonts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches.
_WIDTH, _HEIGHT, _LEAST_HEIGHT = 7.0, 6.0, 2.0  # of the field of dots
_DOT = 0.035  # radius
_SIGN = 0.15  # width of a sign in the legend
_DISTANCES = (0.05, 0.1)  # from a dot to its name; farther away, a reader could not tell whose name it is

_COLOUR, _SQUARE_COLOUR = "#0072b2", "#d55e00"  # blue and vermilion; shapes differ too, for readers without colours
_DIRECTIONS = np.array([(1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1)])


class Dot(NamedTuple):
    """A word to draw."""

    word: str
    x: float
    y: float
    hollow: bool = False
    """Whether only its outline is drawn."""
    square: bool = False
    """Whether it is a square in another colour, in place of a disc."""


class Legend(NamedTuple):
    """What the kinds of dots mean; a kind that does not occur is left out."""

    hollow: str = ""
    disc: str = ""
    square: str = ""


def draw_words(
    dots: Sequence[Dot], title: str = "", axes: tuple[str, str] = ("", ""), legend: Legend | None = None
) -> tuple[Figure, int]:
    """Draws words as dots, to the same scale on both axes, with each name that covers no other name or dot.

    Args:
        dots: the most important first; their names are placed first.
        title: printed above.
        axes: descriptions of the two axes.
        legend: the meanings of the dots.

    Returns:
        The figure, and the number of dots without a name.

    Raises:
        PlotError: no dots, or positions that are not finite.
    """
    positions = np.array([(dot.x, dot.y) for dot in dots], float).reshape(-1, 2)
    if not len(dots) or not np.isfinite(positions).all():
        raise PlotError("expected one word or more to draw, at finite positions")
    names = [printable(dot.word) for dot in dots]
    fonts = find_fonts([title, *axes, *(legend or ()), *names])
    with drawing():
        extents = text_sizes(names, fonts, SMALL)
        points, field = _to_inches(positions, float(extents[:, 0].max()))
        boxes = place_labels(points, extents, field)
        unnamed = int(np.isnan(boxes[:, 0]).sum())
        lines, widest = wrap(title, field[0], fonts)
        notes, signs = _notes(axes, unnamed, len(dots)), _signs(dots, legend or Legend())
        top = PAD + LINE * len(lines) + (GAP if lines else 0)
        below = top + field[1] + GAP
        size = max(field[0], widest) + 2 * PAD, below + LINE * (len(notes) + bool(signs)) + PAD
        figure = new_figure(*size)
        canvas = inch_axes(figure, 0, 0, *size)
        for line, text in enumerate(lines):
            draw_text(canvas, PAD, PAD + line * LINE, text, fonts, TITLE, va="top")
        for line, text in enumerate(notes):
            draw_text(canvas, PAD, below + line * LINE, text, fonts, SMALL, color=QUIET, va="top")
        _draw_signs(canvas, below + len(notes) * LINE, signs, fonts)
        _draw_dots(inch_axes(figure, PAD, top, *field), points, dots, field)
        for name, box in zip(names, boxes, strict=True):
            if not np.isnan(box[0]):
                x, y = PAD + box[:2].mean(), top + box[2:].mean()
                draw_text(canvas, x, y, name, fonts, SMALL, ha="center", va="center", zorder=3)
        return figure, unnamed


def place_labels(points: Floats, extents: Floats, field: tuple[float, float]) -> Floats:
    """Places labels greedily: in their order, each takes the first free position beside its point.

    Args:
        points: [labels, 2] from the upper left corner; all arguments have the same unit.
        extents: [labels, (width, height)].
        field: width and height; labels stay inside.

    Returns:
        [labels, (left, right, top, bottom)], NaN for a label without a free position.
    """
    dots = np.stack([points[:, 0] - _DOT, points[:, 0] + _DOT, points[:, 1] - _DOT, points[:, 1] + _DOT], axis=1)
    boxes = np.full((len(points), 4), np.nan)
    for index, (point, size) in enumerate(zip(points, extents, strict=True)):
        obstacles = np.concatenate([np.delete(dots, index, axis=0), boxes[:index][~np.isnan(boxes[:index, 0])]])
        for distance in _DISTANCES:
            centres = point + _DIRECTIONS * (distance + size / 2)
            candidates = np.stack([centres - size / 2, centres + size / 2], axis=2).reshape(-1, 4)
            free = [box for box in candidates if _is_inside(box, field) and not _overlaps(box, obstacles)]
            if free:
                boxes[index] = free[0]
                break
    return boxes


def _is_inside(box: Floats, field: tuple[float, float]) -> bool:
    return bool(box[0] >= 0 and box[1] <= field[0] and box[2] >= 0 and box[3] <= field[1])


def _overlaps(box: Floats, others: Floats) -> bool:
    across = (box[0] < others[:, 1]) & (others[:, 0] < box[1])
    return bool((across & (box[2] < others[:, 3]) & (others[:, 2] < box[3])).any())


def _to_inches(positions: Floats, widest: float) -> tuple[Floats, tuple[float, float]]:
    """Scales positions to inches from the upper left corner of a field, with room for a label at each edge.

    Returns:
        The points [words, 2], and the width and height of the field.
    """
    low, high = positions.min(axis=0), positions.max(axis=0)
    margin = min(widest, _WIDTH / 4) + _DISTANCES[-1]
    spread = high - low
    available = np.array([_WIDTH - 2 * margin, _HEIGHT - 2 * PAD - 2 * LINE])
    scale = min((room / extent for room, extent in zip(available, spread, strict=True) if extent > 0), default=1.0)
    height = max(spread[1] * scale + 2 * PAD + 2 * LINE, _LEAST_HEIGHT)
    centre = (low + high) / 2
    points = (positions - centre) * scale * [1, -1] + [_WIDTH / 2, height / 2]
    return points, (_WIDTH, float(height))


def _signs(dots: Sequence[Dot], legend: Legend) -> list[tuple[str, str, str]]:
    """The kinds of dots that occur: a sign, its colour and its meaning."""
    kinds = [
        ("●", _COLOUR, legend.disc, any(not dot.square for dot in dots)),
        ("■", _SQUARE_COLOUR, legend.square, any(dot.square for dot in dots)),
        ("○", QUIET, legend.hollow, any(dot.hollow for dot in dots)),
    ]
    return [(sign, colour, meaning) for sign, colour, meaning, occurs in kinds if meaning and occurs]


def _draw_signs(canvas: Axes, top: float, signs: Sequence[tuple[str, str, str]], fonts: list[str]) -> None:
    left = PAD
    for sign, colour, meaning in signs:
        draw_text(canvas, left, top, sign, fonts, SMALL, color=colour, va="top")
        left += _SIGN
        draw_text(canvas, left, top, meaning, fonts, SMALL, color=QUIET, va="top")
        left += float(text_sizes([meaning], fonts, SMALL)[0, 0]) + 2 * _SIGN


def _notes(axes: tuple[str, str], unnamed: int, total: int) -> list[str]:
    notes = ["     ".join(f"{arrow} {text}" for arrow, text in zip("→↑", axes, strict=True) if text)]
    if unnamed:
        notes.append(f"{unnamed} of {total} dots have no room for their names")
    return [note for note in notes if note]


def _draw_dots(axes: Axes, points: Floats, dots: Sequence[Dot], field: tuple[float, float]) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((0, 0), *field, fill=False, edgecolor=GRID, linewidth=1.2))
    for (x, y), dot in zip(points, dots, strict=True):
        size = (2 * _DOT * 72) ** 2  # matplotlib wants the square of a marker's diameter in points
        colour, marker = (_SQUARE_COLOUR, "s") if dot.square else (_COLOUR, "o")
        face = "white" if dot.hollow else colour
        axes.scatter(x, y, s=size, marker=marker, facecolor=face, edgecolor=colour, linewidth=0.8, zorder=2)
