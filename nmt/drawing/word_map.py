"""Words as dots on two axes, each with its name where there is room for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nmt.drawing.canvas import (
    GRID,
    QUIET,
    SMALL,
    TITLE,
    Floats,
    PlotError,
    drawing,
    inch_axes,
    label,
    new_figure,
    sizes,
    wrapped,
    write,
)
from nmt.drawing.fonts import find_fonts
from nmt.drawing.heatmap_layout import GAP, LINE, PAD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT, _LEAST_HEIGHT = 7.0, 6.0, 2.0  # of the field of dots, in inches
_DOT = 0.035  # radius
_COLOUR = "#0072b2"  # blue, with hollow dots as the other kind: to be told apart without colours
_NUDGES = (0.05, 0.1)  # from a dot to its name; farther away one would not see whose name it is
_DIRECTIONS = np.array([(1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1)])


class Dot(NamedTuple):
    """A word to be drawn."""

    word: str
    x: float
    y: float
    faint: bool = False
    """Whether it is drawn hollow."""


def draw_words(
    dots: Sequence[Dot], title: str = "", axes: tuple[str, str] = ("", ""), faint: str = ""
) -> tuple[Figure, int]:
    """Draws words as dots, one unit as long on both axes, and names those whose name covers no other name or dot.

    Args:
        dots: the most important first, which have the first choice of room.
        title: written above.
        axes: what the two axes are.
        faint: what the hollow dots are.

    Returns:
        The figure, and how many dots have no name.

    Raises:
        PlotError: no dots, or places that are not finite.
    """
    places = np.array([(dot.x, dot.y) for dot in dots], float).reshape(-1, 2)
    if not len(dots) or not np.isfinite(places).all():
        raise PlotError("expected one word or more to draw, at finite places")
    names = [label(dot.word) for dot in dots]
    fonts = find_fonts([title, *axes, faint, *names])
    with drawing():
        extents = sizes(names, fonts, SMALL)
        points, width, height = _to_inches(places, float(extents[:, 0].max()))
        boxes = place_labels(points, extents, (width, height))
        left_out = int(np.isnan(boxes[:, 0]).sum())
        lines, widest = wrapped(title, width, fonts)
        notes = _notes(axes, faint if any(dot.faint for dot in dots) else "", left_out, len(dots))
        top = PAD + LINE * len(lines) + (GAP if lines else 0)
        size = max(width, widest) + 2 * PAD, top + height + GAP + LINE * len(notes) + PAD
        figure = new_figure(*size)
        canvas = inch_axes(figure, 0, 0, *size)
        for line, text in enumerate(lines):
            write(canvas, PAD, PAD + line * LINE, text, fonts, TITLE, va="top")
        for line, text in enumerate(notes):
            write(canvas, PAD, top + height + GAP + line * LINE, text, fonts, SMALL, color=QUIET, va="top")
        _draw_dots(inch_axes(figure, PAD, top, width, height), points, dots, (width, height))
        for name, box in zip(names, boxes, strict=True):
            if not np.isnan(box[0]):
                x, y = PAD + box[:2].mean(), top + box[2:].mean()
                write(canvas, x, y, name, fonts, SMALL, ha="center", va="center", zorder=3)
        return figure, left_out


def place_labels(points: Floats, extents: Floats, room: tuple[float, float]) -> Floats:
    """Greedy: in their order, each label takes the first place beside its point that is free, or none.

    Args:
        points: [labels, 2] from the upper left corner, in the unit of the rest.
        extents: [labels, (width, height)].
        room: width and height, which no label leaves.

    Returns:
        [labels, (left, right, top, bottom)], NaN where there was no place.
    """
    dots = np.stack([points[:, 0] - _DOT, points[:, 0] + _DOT, points[:, 1] - _DOT, points[:, 1] + _DOT], axis=1)
    boxes = np.full((len(points), 4), np.nan)
    for index, (point, size) in enumerate(zip(points, extents, strict=True)):
        others = np.concatenate([np.delete(dots, index, axis=0), boxes[:index][~np.isnan(boxes[:index, 0])]])
        for nudge in _NUDGES:
            centres = point + _DIRECTIONS * (nudge + size / 2)
            corners = np.stack([centres - size / 2, centres + size / 2], axis=2).reshape(-1, 4)
            free = [box for box in corners if _inside(box, room) and not _overlaps(box, others)]
            if free:
                boxes[index] = free[0]
                break
    return boxes


def _inside(box: Floats, room: tuple[float, float]) -> bool:
    return bool(box[0] >= 0 and box[1] <= room[0] and box[2] >= 0 and box[3] <= room[1])


def _overlaps(box: Floats, others: Floats) -> bool:
    across = (box[0] < others[:, 1]) & (others[:, 0] < box[1])
    return bool((across & (box[2] < others[:, 3]) & (others[:, 2] < box[3])).any())


def _to_inches(places: Floats, margin: float) -> tuple[Floats, float, float]:
    """Points from the upper left corner, with room for a label at each edge; width and height of the field."""
    low, high = places.min(axis=0), places.max(axis=0)
    margin = min(margin, _WIDTH / 4) + _NUDGES[-1]
    spread = high - low
    rooms = np.array([_WIDTH - 2 * margin, _HEIGHT - 2 * PAD - 2 * LINE])
    scale = min((room / extent for room, extent in zip(rooms, spread, strict=True) if extent > 0), default=1.0)
    height = max(spread[1] * scale + 2 * PAD + 2 * LINE, _LEAST_HEIGHT)
    centre = (low + high) / 2
    points = (places - centre) * scale * [1, -1] + [_WIDTH / 2, height / 2]
    return points, _WIDTH, float(height)


def _notes(axes: tuple[str, str], faint: str, left_out: int, total: int) -> list[str]:
    notes = ["     ".join(f"{arrow} {text}" for arrow, text in zip("→↑", axes, strict=True) if text)]
    if faint:
        notes.append(f"○ {faint}")
    if left_out:
        notes.append(f"dots without room for their names: {left_out} of {total}")
    return [note for note in notes if note]


def _draw_dots(axes: Axes, points: Floats, dots: Sequence[Dot], room: tuple[float, float]) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((0, 0), *room, fill=False, edgecolor=GRID, linewidth=1.2))
    for (x, y), dot in zip(points, dots, strict=True):
        size = (2 * _DOT * 72) ** 2  # of a marker: the square of its diameter in points
        face = "white" if dot.faint else _COLOUR
        axes.scatter(x, y, s=size, facecolor=face, edgecolor=_COLOUR, linewidth=0.8, zorder=2)
