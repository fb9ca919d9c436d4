"""Draws a heat map whose layout is known, anywhere in a figure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from nmt.drawing.canvas import (
    FAINT,
    FONT,
    GAP,
    GRID,
    INK,
    LINE,
    PAD,
    QUIET,
    SMALL,
    TITLE,
    WORD,
    Colour,
    Floats,
    contrast,
    draw_text,
    inch_axes,
    inch_box,
    style_bar,
)
from nmt.drawing.heatmap_layout import (
    BAR_WIDTH,
    CORNER,
    CORNER_RIGHT_TO_LEFT,
    KEY,
    READABLE_CELL,
    Panel,
    lay_out,
)
from nmt.drawing.picture import LINK, SURE, HeatMapContent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

# Both colour maps suit colour-blind readers. The first also suits print; the second is white at 0.
_ATTENTION_COLOURS, _ERASURE_COLOURS = "Blues", "PuOr_r"
LINK_COLOUR, SHARE_COLOUR = "#c04f00", "#8a3800"
READABLE_CONTRAST = 4.5  # least for small text: Web Content Accessibility Guidelines 2.2, criterion 1.4.3
SHARE_SIZE, SHARE_SHIFT = 6.0, 0.055  # points; inches above and below the middle of a cell


class HeatMap:
    """A heat map with its layout, so that its size is known before it is drawn."""

    def __init__(self, content: HeatMapContent, compact: bool) -> None:
        self.content, self.layout = content, lay_out(content, compact)

    def draw(self, figure: Figure, left: float, top: float) -> None:
        """Draws the heat map with its upper left corner at this position, in inches."""
        layout = self.layout
        axes = inch_axes(figure, left, top, layout.width, layout.height)
        self._draw_attention(figure, axes, (left, top))
        if layout.erasure is not None:
            self._draw_erasure(figure, axes, (left, top), layout.erasure)
        self._draw_row_labels(axes)
        self._draw_legend(axes)
        for line, text in enumerate(layout.title):
            draw_text(axes, PAD, PAD + line * LINE, text, self.content.fonts, size=TITLE, va="top")

    def _draw_attention(self, figure: Figure, axes: Axes, corner: tuple[float, float]) -> None:
        layout, content = self.layout, self.content
        style: dict[str, Any] = {"cmap": _ATTENTION_COLOURS, "vmin": 0, "vmax": 1}
        self._draw_cells(axes, layout.end_column, content.end_of_sentence[:, None], **style)
        weights, shares = self._in_columns(content.weights), self._shares()
        mesh = self._draw_cells(axes, layout.attention.columns, weights, shares, **style)
        self._draw_column_labels(axes, layout.attention)
        x, y = float(layout.end_column.mean()), self._label_base
        draw_text(axes, x, y, layout.end_label, content.fonts, color=QUIET, style="italic", **self._label_style)
        self._draw_gold(axes, layout.attention)
        self._draw_links(axes)
        self._draw_bar(figure, mesh, corner, layout.attention, "attention", [0, 0.5, 1])

    def _draw_erasure(self, figure: Figure, axes: Axes, corner: tuple[float, float], panel: Panel) -> None:
        assert self.content.erasure is not None
        most = float(np.abs(self.content.erasure).max()) or 1.0
        values = self._in_columns(self.content.erasure)
        mesh = self._draw_cells(axes, panel.columns, values, cmap=_ERASURE_COLOURS, vmin=-most, vmax=most)
        self._draw_column_labels(axes, panel)
        self._draw_gold(axes, panel)
        self._draw_bar(figure, mesh, corner, panel, "nats", [-most, 0, most])

    def _in_columns(self, by_word: Floats) -> Floats:
        """Values of source words, [..., words], in the order of the columns from left to right."""
        return by_word[..., ::-1] if self.content.right_to_left else by_word

    def _column(self, source_word: int) -> int:
        """The column of a source word, from the left."""
        return len(self.content.source) - 1 - source_word if self.content.right_to_left else source_word

    def _shares(self) -> dict[tuple[int, int], float]:
        """The share that made each link, by row and column; empty if the rule compares no shares."""
        shares = self.content.shares
        return {} if shares is None else {(t, self._column(s)): float(shares[t, s]) for s, t in self.content.links}

    def _draw_cells(
        self,
        axes: Axes,
        columns: Floats,
        values: Any,
        shares: Mapping[tuple[int, int], float] = MappingProxyType({}),
        **style: Any,
    ) -> ScalarMappable:
        """Draws coloured cells, with their values, and the shares of links, where a cell has room for them."""
        rows = self.layout.rows
        readable = rows[1] - rows[0] >= READABLE_CELL
        mesh = axes.pcolormesh(columns, rows, values, edgecolors=GRID, linewidth=0.4 if readable else 0.2, **style)
        if readable:
            most = max(abs(style["vmin"]), abs(style["vmax"]))
            cells = mesh.to_rgba(values)
            for (row, column), value in np.ndenumerate(values):
                x, y = float(_centres(columns)[column]), float(_centres(rows)[row])
                share, cell = shares.get((row, column)), tuple(cells[row, column])
                if share is not None:
                    _draw_share(axes, x, y + SHARE_SHIFT, share, cell)
                    y -= SHARE_SHIFT
                if abs(value) >= 0.005:  # a smaller one would read 0.00
                    _draw_value(axes, x, y, float(value), FAINT if abs(value) < 0.1 * most else _ink_on(cell))
        return mesh

    @property
    def _label_base(self) -> float:
        return self.layout.top - (2 * GAP if self.layout.horizontal else GAP)

    @property
    def _label_style(self) -> dict[str, Any]:
        if self.layout.horizontal:
            return {"ha": "center", "va": "baseline"}
        return {"rotation": 90, "rotation_mode": "anchor", "ha": "left", "va": "center_baseline"}

    def _draw_column_labels(self, axes: Axes, panel: Panel) -> None:
        """Draws source words above a matrix, and its title above them."""
        for place, word in enumerate(self.content.source):
            x = float(_centres(panel.columns)[self._column(place)])
            draw_text(axes, x, self._label_base, word, self.content.fonts, **self._label_style)
        for line, text in enumerate(panel.title):
            y = self.layout.titles_top + line * LINE
            draw_text(axes, float(panel.columns[0]), y, text, self.content.fonts, size=WORD, va="top", color=QUIET)

    def _draw_row_labels(self, axes: Axes) -> None:
        """Draws target words to the left of the rows, and the names of the two sides above them."""
        right = self.layout.left - GAP
        for row, word in zip(_centres(self.layout.rows), self.content.target, strict=True):
            draw_text(axes, right, row, word, self.content.fonts, ha="right", va="center_baseline")
        corner = CORNER_RIGHT_TO_LEFT if self.content.right_to_left else CORNER
        for line, text in enumerate(reversed(corner)):
            y = self._label_base - line * 0.8 * LINE
            draw_text(axes, right, y, text, self.content.fonts, size=SMALL, color=QUIET, ha="right")

    def _draw_links(self, axes: Axes) -> None:
        columns, rows = self.layout.attention.columns, self.layout.rows
        for s, t in sorted(self.content.links):
            _outline(axes, columns[self._column(s)], rows[t], columns[1] - columns[0], rows[1] - rows[0])

    def _draw_gold(self, axes: Axes, panel: Panel) -> None:
        """Marks gold links inside their cells, so that a link's outline of the same cell stays visible."""
        gold = self.content.gold
        if gold is None:
            return
        rows, columns = self.layout.rows, panel.columns
        width, height = columns[1] - columns[0], rows[1] - rows[0]
        inset = min(0.05, 0.2 * height)
        for s, t in sorted(gold.possible | gold.sure):
            x, y = columns[self._column(s)] + inset, rows[t] + inset
            _mark_gold(axes, x, y, width - 2 * inset, height - 2 * inset, (s, t) in gold.sure)

    def _draw_legend(self, axes: Axes) -> None:
        x = self.layout.left
        for line, (name, explanation) in enumerate(self.content.legend):
            y = self.layout.legend_top + line * LINE
            if name == LINK:
                _outline(axes, x, y, KEY, KEY)
            else:
                _mark_gold(axes, x, y, KEY, KEY, name == SURE)
            draw_text(axes, x + KEY + GAP, y + KEY / 2, explanation, [FONT], size=SMALL, color=QUIET, va="center")

    def _draw_bar(
        self,
        figure: Figure,
        mesh: ScalarMappable,
        corner: tuple[float, float],
        panel: Panel,
        name: str,
        ticks: list[float],
    ) -> None:
        box = inch_box(figure, corner[0] + panel.bar, corner[1] + self.layout.top, BAR_WIDTH, self.layout.bar_height)
        bar = figure.colorbar(mesh, cax=figure.add_axes(box), ticks=ticks)
        bar.set_ticklabels([_decimal(tick, 1) for tick in ticks])
        bar.set_label(name, color=QUIET, fontsize=SMALL, labelpad=2)
        style_bar(bar)


def _centres(edges: Floats) -> Floats:
    return (edges[:-1] + edges[1:]) / 2


def _draw_value(axes: Axes, x: float, y: float, value: float, colour: str) -> None:
    text = _decimal(value, 2 if abs(value) < 9.995 else 1)
    draw_text(axes, x, y, text, [FONT], size=SMALL, color=colour, ha="center", va="center")


def _draw_share(axes: Axes, x: float, y: float, share: float, cell: Colour) -> None:
    """Draws the share by which a rule made a link, below the attention: it explains links of pale cells."""
    colour = SHARE_COLOUR if contrast(SHARE_COLOUR, cell) >= READABLE_CONTRAST else _ink_on(cell)
    draw_text(axes, x, y, f"{100 * share:.0f} %", [FONT], size=SHARE_SIZE, color=colour, ha="center", va="center")


def _ink_on(cell: Colour) -> str:
    """The ink that reads best on a cell of this colour."""
    return max((INK, "white"), key=lambda ink: contrast(ink, cell))


def _decimal(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _outline(axes: Axes, x: float, y: float, width: float, height: float) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=LINK_COLOUR, linewidth=1.5))


def _mark_gold(axes: Axes, x: float, y: float, width: float, height: float, sure: bool) -> None:
    """Draws a dark line over a wider white one, visible on cells of any colour; broken where the link is not sure."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor="white", linewidth=2.4))
    style: Any = "solid" if sure else (0, (2.2, 2.2))
    axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=INK, linewidth=1.2, linestyle=style))
