"""The heat map of one sentence pair, and pages of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from nmt.alignment.links import Gold, require_in_range
from nmt.alignment.word_alignment import WordAlignment
from nmt.drawing.canvas import (
    FAINT,
    FONT,
    GRID,
    INK,
    QUIET,
    SMALL,
    TITLE,
    WORD,
    Floats,
    PlotError,
    drawing,
    inch_axes,
    inch_box,
    label,
    new_figure,
    style_bar,
    write,
)
from nmt.drawing.fonts import find_fonts
from nmt.drawing.heatmap_layout import BAR, CORNER, GAP, KEY, LINE, PAD, READABLE_CELL, Layout, Panel, Text, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

# Both are safe for the colour-blind; the first also in print, the second is white at 0.
_ATTENTION_COLOURS, _ERASURE_COLOURS = "Blues", "PuOr_r"
_OUTLINE = "#d55e00"

_ATTENTION_TITLE, _ERASURE_TITLE = "attention", "fall of log-probability when a source word is erased"
_LINK, _SURE, _POSSIBLE = "link", "gold link, sure", "gold link, possible"

MOST_WORDS = 1000
"""Of a side: in a picture of bounded size, those of more would be smaller than any font is."""

PAGE = (16.54, 23.39)
"""Width and height of a page in inches: A2, which has room for about six sentences and is readable on A3 too."""
MARGIN, SPACE = 0.5, 0.3
"""Inches around a page, and between its heat maps."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A sentence pair to be drawn; what the fields are is said at `heatmap`."""

    alignment: WordAlignment
    title: str = ""
    gold: Gold | None = None
    erasure: ArrayLike | None = None


def drawable(alignment: WordAlignment) -> bool:
    """Whether there is something to draw on both sides, and not too much."""
    return all(0 < len(words) <= MOST_WORDS for words in (alignment.source, alignment.target))


def heatmap(
    alignment: WordAlignment, title: str = "", gold: Gold | None = None, erasure: ArrayLike | None = None
) -> Figure:
    """Draws the attention of target words (rows) on source words (columns).

    The last column, set apart, is the attention on the source's end of sentence; hard links have an outline. The
    figure is as large as its words need.

    Args:
        alignment: the pair.
        title: above it, in as many lines as it needs.
        gold: links drawn by people, marked within the cells: sure ones with a line, possible ones with a broken line.
        erasure: [target words, source words], the fall of the target word's log-probability in nats when the source
            word is erased, drawn beside the attention.

    Raises:
        PlotError: a side has no words or more than `MOST_WORDS`; an erasure matrix of another shape, or with values
            that are not finite.
        AlignmentError: a gold link to a word that is not there.

    Warns:
        UserWarning: no installed font has the glyphs of some script.
    """
    picture = Picture(alignment, title, gold, erasure)
    text = _text(picture, find_fonts(written(picture)))
    with drawing():
        drawn = _LaidOut(picture, text, compact=False)
        figure = new_figure(drawn.layout.width, drawn.layout.height)
        drawn.draw(figure, 0, 0)
    return figure


def heatmap_pages(pictures: Iterable[Picture]) -> Iterator[Figure]:
    """Draws heat maps in their order, as many on each page as fit, left to right and down.

    Pages are A2; one that is larger than that gets a page of its own size.

    Raises:
        as `heatmap`.
    """
    page: list[_Placed] = []
    for placed in _place(_laid_out(pictures)):
        if placed.first and page:
            yield _draw_page(page)
            page = []
        page.append(placed)
    if page:
        yield _draw_page(page)


def _laid_out(pictures: Iterable[Picture]) -> Iterator[_LaidOut]:
    for picture in pictures:
        text = _text(picture, find_fonts(written(picture)))
        with drawing():
            laid_out = _LaidOut(picture, text, compact=True)
        yield laid_out


@dataclass(frozen=True)
class _Placed:
    what: _LaidOut
    left: float
    top: float
    first: bool  # of a new page


def _place(maps: Iterable[_LaidOut]) -> Iterator[_Placed]:
    """Rows of maps from the left, rows from the top, pages."""
    left = top = MARGIN
    row = 0.0  # height of the row so far
    first = True
    for what in maps:
        width, height = what.layout.width, what.layout.height
        if left > MARGIN and left + width > PAGE[0] - MARGIN:
            left, top, row = MARGIN, top + row + SPACE, 0.0
        alone = width > PAGE[0] - 2 * MARGIN or height > PAGE[1] - 2 * MARGIN
        if first or alone or top + height > PAGE[1] - MARGIN:
            left, top, row, first = MARGIN, MARGIN, 0.0, True
        yield _Placed(what, left, top, first)
        left, row, first = left + width + SPACE, max(row, height), alone


def _draw_page(page: list[_Placed]) -> Figure:
    width = max(placed.left + placed.what.layout.width for placed in page) + MARGIN
    height = max(placed.top + placed.what.layout.height for placed in page) + MARGIN
    with drawing():
        figure = new_figure(max(width, PAGE[0]), max(height, PAGE[1]))
        for placed in page:
            placed.what.draw(figure, placed.left, placed.top)
    return figure


def written(picture: Picture) -> list[str]:
    """Everything that the user's words come into."""
    return [*picture.alignment.source, *picture.alignment.target, picture.title]


def _text(picture: Picture, fonts: list[str]) -> Text:
    """What the picture says.

    Raises:
        PlotError, AlignmentError: as `heatmap`.
    """
    alignment, gold = picture.alignment, picture.gold
    for side, words in (("source", alignment.source), ("target", alignment.target)):
        if not words:
            raise PlotError(f"nothing to draw: the {side} has no words")
        if len(words) > MOST_WORDS:
            raise PlotError(f"the {side} has {len(words)} words: a heat map has room for {MOST_WORDS}")
    legend = [_LINK] if alignment.links else []
    if gold is not None:
        require_in_range(gold, alignment.source, alignment.target, "gold links")
        legend += [_SURE] if gold.sure else []
        legend += [_POSSIBLE] if gold.possible - gold.sure else []
    return Text(
        source=[label(word) for word in alignment.source],
        target=[label(word) for word in alignment.target],
        title=picture.title,
        attention_title="" if picture.erasure is None else _ATTENTION_TITLE,
        erasure_title="" if picture.erasure is None else _ERASURE_TITLE,
        legend=legend,
        fonts=fonts,
    )


def _erasure_of(picture: Picture) -> Floats | None:
    if picture.erasure is None:
        return None
    array, expected = np.asarray(picture.erasure, dtype=float), picture.alignment.weights.shape
    if array.shape != expected or not np.isfinite(array).all():
        raise PlotError(
            f"erasure has shape {list(array.shape)}: expected finite numbers of shape {list(expected)}, "
            "a row a target word and a column a source word"
        )
    return array


class _LaidOut:
    """A picture of known size, ready to be drawn anywhere in a figure."""

    def __init__(self, picture: Picture, text: Text, compact: bool) -> None:
        self.alignment, self.gold, self.text = picture.alignment, picture.gold, text
        self.erasure = _erasure_of(picture)
        self.layout: Layout = lay_out(text, self.erasure is not None, compact)

    def draw(self, figure: Figure, left: float, top: float) -> None:
        layout = self.layout
        axes = inch_axes(figure, left, top, layout.width, layout.height)
        self._draw_attention(figure, axes, (left, top))
        if layout.erasure is not None:
            self._draw_erasure(figure, axes, (left, top), layout.erasure)
        self._draw_rows(axes)
        self._draw_legend(axes)
        for line, text in enumerate(layout.title):
            write(axes, PAD, PAD + line * LINE, text, self.text.fonts, size=TITLE, va="top")

    def _draw_attention(self, figure: Figure, axes: Axes, corner: tuple[float, float]) -> None:
        layout, alignment = self.layout, self.alignment
        style: dict[str, Any] = {"cmap": _ATTENTION_COLOURS, "vmin": 0, "vmax": 1}
        for columns, weights in (
            (layout.end_column, alignment.end_of_sentence[:, None]),
            (layout.attention.columns, alignment.weights),
        ):
            mesh = self._draw_cells(axes, columns, weights, **style)
        self._draw_columns(axes, layout.attention)
        x, y = float(layout.end_column.mean()), self._label_base
        write(axes, x, y, layout.end_label, self.text.fonts, color=QUIET, style="italic", **self._label_style)
        self._draw_gold(axes, layout.attention)
        self._draw_links(axes)
        self._draw_bar(figure, mesh, corner, layout.attention, "attention", [0, 0.5, 1])

    def _draw_erasure(self, figure: Figure, axes: Axes, corner: tuple[float, float], panel: Panel) -> None:
        assert self.erasure is not None
        most = float(np.abs(self.erasure).max()) or 1.0
        mesh = self._draw_cells(axes, panel.columns, self.erasure, cmap=_ERASURE_COLOURS, vmin=-most, vmax=most)
        self._draw_columns(axes, panel)
        self._draw_gold(axes, panel)
        self._draw_bar(figure, mesh, corner, panel, "nats", [-most, 0, most])

    def _draw_cells(self, axes: Axes, columns: Floats, values: Any, **style: Any) -> ScalarMappable:
        """Coloured cells, and their values where there is room for them."""
        rows = self.layout.rows
        readable = rows[1] - rows[0] >= READABLE_CELL
        mesh = axes.pcolormesh(columns, rows, values, edgecolors=GRID, linewidth=0.4 if readable else 0.2, **style)
        if readable:
            most = max(abs(style["vmin"]), abs(style["vmax"]))
            for (row, column), value in np.ndenumerate(values):
                x, y = float(_middles(columns)[column]), float(_middles(rows)[row])
                _write_value(axes, x, y, float(value), abs(value) / most)
        return mesh

    @property
    def _label_base(self) -> float:
        return self.layout.top - (2 * GAP if self.layout.flat else GAP)

    @property
    def _label_style(self) -> dict[str, Any]:
        if self.layout.flat:
            return {"ha": "center", "va": "baseline"}
        return {"rotation": 90, "rotation_mode": "anchor", "ha": "left", "va": "center_baseline"}

    def _draw_columns(self, axes: Axes, panel: Panel) -> None:
        """Source words above a matrix, and its title above them."""
        for x, word in zip(_middles(panel.columns), self.text.source, strict=True):
            write(axes, x, self._label_base, word, self.text.fonts, **self._label_style)
        for line, text in enumerate(panel.title):
            y = self.layout.titles_top + line * LINE
            write(axes, float(panel.columns[0]), y, text, self.text.fonts, size=WORD, va="top", color=QUIET)

    def _draw_rows(self, axes: Axes) -> None:
        """Target words to the left of the rows, and which side is which."""
        right = self.layout.left - GAP
        for row, word in zip(_middles(self.layout.rows), self.text.target, strict=True):
            write(axes, right, row, word, self.text.fonts, ha="right", va="center_baseline")
        for line, text in enumerate(reversed(CORNER)):
            y = self._label_base - line * 0.8 * LINE
            write(axes, right, y, text, self.text.fonts, size=SMALL, color=QUIET, ha="right")

    def _draw_links(self, axes: Axes) -> None:
        columns, rows = self.layout.attention.columns, self.layout.rows
        for s, t in sorted(self.alignment.links):
            _outline(axes, columns[s], rows[t], columns[1] - columns[0], rows[1] - rows[0])

    def _draw_gold(self, axes: Axes, panel: Panel) -> None:
        """Within the cells, so that an outline of the same cell stays to be seen."""
        if self.gold is None:
            return
        rows, columns = self.layout.rows, panel.columns
        width, height = columns[1] - columns[0], rows[1] - rows[0]
        inset = min(0.05, 0.2 * height)
        for s, t in sorted(self.gold.possible | self.gold.sure):
            x, y = columns[s] + inset, rows[t] + inset
            _mark_gold(axes, x, y, width - 2 * inset, height - 2 * inset, (s, t) in self.gold.sure)

    def _draw_legend(self, axes: Axes) -> None:
        x = self.layout.left
        for line, name in enumerate(self.text.legend):
            y = self.layout.rows[-1] + PAD + line * LINE
            if name == _LINK:
                _outline(axes, x, y, KEY, KEY)
            else:
                _mark_gold(axes, x, y, KEY, KEY, name == _SURE)
            write(axes, x + KEY + GAP, y + KEY / 2, name, [FONT], size=SMALL, color=QUIET, va="center")

    def _draw_bar(
        self,
        figure: Figure,
        mesh: ScalarMappable,
        corner: tuple[float, float],
        panel: Panel,
        name: str,
        ticks: list[float],
    ) -> None:
        box = inch_box(figure, corner[0] + panel.bar, corner[1] + self.layout.top, BAR, self.layout.bar_height)
        bar = figure.colorbar(mesh, cax=figure.add_axes(box), ticks=ticks)
        bar.set_ticklabels([_number(tick, 1) for tick in ticks])
        bar.set_label(name, color=QUIET, fontsize=SMALL, labelpad=2)
        style_bar(bar)


def _middles(edges: Floats) -> Floats:
    return (edges[:-1] + edges[1:]) / 2


def _write_value(axes: Axes, x: float, y: float, value: float, strength: float) -> None:
    if abs(value) < 0.005:  # 0.00 says nothing
        return
    colour = "white" if strength > 0.55 else INK if strength >= 0.1 else FAINT
    text = _number(value, 2 if abs(value) < 9.995 else 1)
    write(axes, x, y, text, [FONT], size=SMALL, color=colour, ha="center", va="center")


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _outline(axes: Axes, x: float, y: float, width: float, height: float) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=_OUTLINE, linewidth=1.5))


def _mark_gold(axes: Axes, x: float, y: float, width: float, height: float, sure: bool) -> None:
    """A dark line with a white one under it, to be seen on cells of any colour."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor="white", linewidth=2.4))
    style: Any = "solid" if sure else (0, (2.2, 2.2))
    axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=INK, linewidth=1.2, linestyle=style))
