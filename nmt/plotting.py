"""Heat maps of attention, drawn by matplotlib's Agg canvas: no window, no pyplot, no state between two figures.

matplotlib is imported by the functions that need it. It is not thread-safe and is styled through global settings, so
everything here draws under one lock, with matplotlib's own defaults in place of the user's settings.
"""

from __future__ import annotations

import os
import threading
import unicodedata
import uuid
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.alignment import WordAlignment
from nmt.errors import NmtError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

# Without dates and versions: the same input gives the same bytes.
_METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    ".svg": {"Date": None, "Creator": None},
}
_SETTINGS: dict[Any, Any] = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "nmt"}
_FONT = "DejaVu Sans"  # comes with matplotlib
_DPI = 200
_MOST_PIXELS = 8000  # of the longer side: longer sentences get fewer pixels a cell

_COLOURS = "Blues"  # one hue from white to dark: safe for the colour-blind, and in print
_INK, _QUIET, _FAINT, _GRID, _OUTLINE = "#222222", "#666666", "#999999", "#d9d9d9", "#d55e00"
_WORD, _SMALL, _TITLE = 9.0, 7.5, 10.5  # font sizes in points
_LONGEST_LABEL = 64  # characters

# Inches.
_PAD = 0.12
_GAP = 0.06  # between labels and cells
_LINE = 0.2  # a line of text
_SMALLEST_CELL, _LARGEST_CELL, _MATRIX = 0.2, 0.5, 6.5
_READABLE_CELL = 0.36
_WIDEST_FLAT_LABEL = 1.0
_BAR, _BAR_HEIGHTS, _BAR_TEXT = 0.11, (0.9, 2.4), 0.5

_END_LABEL, _END_LABEL_FLAT = "end of sentence", "end of\nsentence"
_CORNER = ("source →", "target ↓")
_Floats = NDArray[np.floating[Any]]


class PlotError(NmtError):
    """Something that cannot be drawn or written; the message says what was expected."""


def heatmap(alignment: WordAlignment, title: str = "") -> Figure:
    """Draws the attention of target words (rows) on source words (columns).

    The last column, set apart, is the attention on the source's end of sentence; hard links have an outline. The
    figure is as large as its words need.

    Raises:
        PlotError: a side has no words.

    Warns:
        UserWarning: no installed font has the glyphs of some script.
    """
    for side, words in (("source", alignment.source), ("target", alignment.target)):
        if not words:
            raise PlotError(f"nothing to draw: the {side} has no words")
    source, target = [_label(w) for w in alignment.source], [_label(w) for w in alignment.target]
    fonts = _fonts([*source, *target, title])
    with _drawing():
        layout = _layout(source, target, title, fonts)
        figure, axes = _canvas(layout.width, layout.height)
        mesh = _draw_cells(axes, alignment, layout)
        _draw_labels(axes, source, target, layout, fonts)
        _draw_links(axes, alignment, layout)
        _draw_bar(figure, mesh, layout)
        for line, text in enumerate(layout.title):
            _write(axes, _PAD, _PAD + line * _LINE, text, fonts, size=_TITLE, va="top")
    return figure


def save_heatmap(alignment: WordAlignment, path: str | os.PathLike[str], title: str = "") -> Path:
    """Draws `heatmap` into a .png, .pdf or .svg file; the same input gives the same bytes.

    Raises:
        PlotError: another suffix, a side without words, or a place that cannot be written.
    """
    _check_suffix(Path(path))
    return save_figure(heatmap(alignment, title), path)


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Writes a figure as .png, .pdf or .svg, whole or not at all; makes the directories above it.

    Raises:
        PlotError: another suffix, or a place that cannot be written.
    """
    path = Path(path)
    suffix = _check_suffix(path)
    unfinished = path.with_name(f".{uuid.uuid4().hex}{suffix}")
    dpi = min(_DPI, _MOST_PIXELS / max(figure.get_size_inches()))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _drawing():
            figure.savefig(unfinished, format=suffix[1:], dpi=dpi, metadata=_METADATA[suffix])
        os.replace(unfinished, path)
    except OSError as error:
        raise PlotError(f"{path} cannot be written: {error.strerror}; choose another place") from None
    finally:
        with suppress(OSError):  # the usual case: it has its name by now
            unfinished.unlink()
    return path


def _check_suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in _METADATA:
        raise PlotError(f"{path}: expected a name that ends in {', '.join(_METADATA)}")
    return suffix


def show_heatmaps(
    matrices: ArrayLike, x_label: str, y_label: str, titles: Sequence[str] | None = None, cmap: str = _COLOURS
) -> Figure:
    """Draws a grid of small heat maps that share one colour bar.

    Args:
        matrices: [rows, columns, queries, keys], a heat map of queries by keys for each row and column of the grid.
        x_label: what the keys are.
        y_label: what the queries are.
        titles: one for each column.
        cmap: name of a matplotlib colour map.

    Raises:
        PlotError: another number of dimensions, nothing in them, or not a title for each column.
    """
    array = np.asarray(matrices, dtype=float)
    if array.ndim != 4 or array.size == 0:
        raise PlotError(f"matrices have shape {list(array.shape)}: expected [rows, columns, queries, keys], none 0")
    rows, columns = array.shape[:2]
    if titles is not None and len(titles) != columns:
        raise PlotError(f"{len(titles)} titles for {columns} columns: expected one for each")
    fonts = _fonts([x_label, y_label, *(titles or [])])
    with _drawing():
        return _draw_grid(array, x_label, y_label, titles or [""] * columns, cmap, fonts)


def _draw_grid(
    array: _Floats, x_label: str, y_label: str, titles: Sequence[str], cmap: str, fonts: list[str]
) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    rows, columns = array.shape[:2]
    figure = Figure(figsize=(2.2 * columns + 0.9, 2.2 * rows + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    low, high = min(0.0, array.min()), array.max()
    style: dict[str, Any] = {"fontfamily": fonts, "parse_math": False, "color": _INK, "fontsize": _WORD}
    for (row, column), axes in np.ndenumerate(grid):
        image = axes.imshow(array[row, column], cmap=cmap, vmin=low, vmax=high, interpolation="nearest")
        axes.tick_params(labelsize=_SMALL, color=_QUIET, labelcolor=_QUIET)
        axes.spines[:].set_color(_GRID)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        if row == 0:
            axes.set_title(titles[column], **style)
        if row == rows - 1:
            axes.set_xlabel(x_label, **style)
        if column == 0:
            axes.set_ylabel(y_label, **style)
    _style_bar(figure.colorbar(image, ax=grid, shrink=0.6))
    return figure


@dataclass(frozen=True)
class _Layout:
    """Where everything is, in inches from the upper left corner."""

    width: float
    height: float
    columns: _Floats  # edges of the source words' columns
    rows: _Floats  # edges of the target words' rows
    end_column: _Floats  # edges of the column for the end of sentence
    flat: bool  # source labels are horizontal
    title: list[str]

    @property
    def left(self) -> float:
        return float(self.columns[0])

    @property
    def top(self) -> float:
        return float(self.rows[0])


def _layout(source: list[str], target: list[str], title: str, fonts: list[str]) -> _Layout:
    across, down = _sizes(source, fonts), _sizes(target, fonts)  # each [words, (width, height)]
    line = 1.15 * max(across[:, 1].max(), down[:, 1].max())
    cell = max(float(np.clip(_MATRIX / max(len(source), len(target)), _SMALLEST_CELL, _LARGEST_CELL)), line)
    widest = across[:, 0].max() + 2 * _GAP
    flat = bool(widest <= max(cell, _WIDEST_FLAT_LABEL) and widest * len(source) <= _MATRIX)
    end_width, end_height = _sizes([_END_LABEL_FLAT if flat else _END_LABEL], fonts)[0]
    header = max(end_height, across[:, 1].max()) if flat else max(end_width, across[:, 0].max())
    left = _PAD + max(down[:, 0].max(), _sizes(_CORNER, fonts, _SMALL)[:, 0].max()) + _GAP
    columns = left + (max(cell, widest) if flat else cell) * np.arange(len(source) + 1)
    # The flat label of the last column is wider than the column.
    overhang = max(0.0, (end_width - 0.8 * cell) / 2 + _GAP) if flat else 0.0
    end_column = columns[-1] + max(0.3 * cell, overhang) + np.array([0.0, 0.8 * cell])
    width = end_column[-1] + max(_LINE, overhang) + _BAR + _BAR_TEXT + _PAD
    lines, widest_line = _wrapped(title, width - 2 * _PAD, fonts)
    top = _PAD + _LINE * len(lines) + (_PAD if lines else 0) + max(header, 2 * _LINE) + _GAP
    below = max(cell * len(target) + _LINE + _GAP, _BAR_HEIGHTS[0] + _PAD)
    return _Layout(
        width=max(width, widest_line + 2 * _PAD),
        height=top + below + _PAD,
        columns=columns,
        rows=top + cell * np.arange(len(target) + 1),
        end_column=end_column,
        flat=flat,
        title=lines,
    )


def _wrapped(text: str, width: float, fonts: list[str]) -> tuple[list[str], float]:
    """A title cut into lines of at most `width` inches, where its words allow, and the width of the widest."""
    words = [_label(word) for word in text.split()]
    if not words:
        return [], 0.0
    # A space's own width is that of the letters around it taken away.
    space = float(_sizes(["n n"], fonts, _TITLE)[0, 0] - _sizes(["nn"], fonts, _TITLE)[0, 0])
    lines, widths = [words[0]], list(_sizes(words, fonts, _TITLE)[:, 0])
    filled = [widths[0]]
    for word, size in zip(words[1:], widths[1:], strict=True):
        if filled[-1] + space + size <= width:
            lines[-1] += f" {word}"
            filled[-1] += space + size
        else:
            lines.append(word)
            filled.append(size)
    return lines, max(filled)


def _draw_cells(axes: Axes, alignment: WordAlignment, layout: _Layout) -> ScalarMappable:
    end = alignment.end_of_sentence[:, None]
    readable = layout.rows[1] - layout.rows[0] >= _READABLE_CELL
    style: dict[str, Any] = {"cmap": _COLOURS, "vmin": 0, "vmax": 1, "edgecolors": _GRID}
    for columns, weights in ((layout.end_column, end), (layout.columns, alignment.weights)):
        mesh = axes.pcolormesh(columns, layout.rows, weights, linewidth=0.4 if readable else 0.2, **style)
        if readable:
            _write_weights(axes, columns, layout.rows, weights)
    return mesh


def _write_weights(axes: Axes, columns: _Floats, rows: _Floats, weights: NDArray[np.float32]) -> None:
    for (row, column), weight in np.ndenumerate(weights):
        if weight >= 0.005:  # 0.00 says nothing
            x, y = float(_middles(columns)[column]), float(_middles(rows)[row])
            colour = "white" if weight > 0.55 else _INK if weight >= 0.1 else _FAINT
            _write(axes, x, y, f"{weight:.2f}", [_FONT], size=_SMALL, color=colour, ha="center", va="center")


def _draw_labels(axes: Axes, source: list[str], target: list[str], layout: _Layout, fonts: list[str]) -> None:
    upright: dict[str, Any] = {"rotation": 90, "rotation_mode": "anchor", "ha": "left", "va": "center_baseline"}
    above: dict[str, Any] = {"ha": "center", "va": "baseline"} if layout.flat else upright
    quiet: dict[str, Any] = {"color": _QUIET, "style": "italic"}
    y = layout.top - (2 * _GAP if layout.flat else _GAP)
    for x, word in zip(_middles(layout.columns), source, strict=True):
        _write(axes, x, y, word, fonts, **above)
    _write(axes, layout.end_column.mean(), y, _END_LABEL_FLAT if layout.flat else _END_LABEL, fonts, **above, **quiet)
    for row, word in zip(_middles(layout.rows), target, strict=True):
        _write(axes, layout.left - _GAP, row, word, fonts, ha="right", va="center_baseline")
    for line, text in enumerate(reversed(_CORNER)):
        _write(axes, layout.left - _GAP, y - line * 0.8 * _LINE, text, fonts, size=_SMALL, color=_QUIET, ha="right")


def _middles(edges: _Floats) -> _Floats:
    return (edges[:-1] + edges[1:]) / 2


def _draw_links(axes: Axes, alignment: WordAlignment, layout: _Layout) -> None:
    from matplotlib.patches import Rectangle

    def outline(x: float, y: float, width: float, height: float) -> None:
        axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=_OUTLINE, linewidth=1.5))

    width, height = layout.columns[1] - layout.columns[0], layout.rows[1] - layout.rows[0]
    for s, t in sorted(alignment.links):
        outline(layout.columns[s], layout.rows[t], width, height)
    if alignment.links:
        y = layout.rows[-1] + _PAD
        outline(layout.left, y, 0.11, 0.11)
        _write(axes, layout.left + 0.17, y + 0.055, "hard link", [_FONT], size=_SMALL, color=_QUIET, va="center")


def _draw_bar(figure: Figure, mesh: ScalarMappable, layout: _Layout) -> None:
    height = float(np.clip(layout.rows[-1] - layout.top, *_BAR_HEIGHTS))
    left, bottom = layout.end_column[-1] + _LINE, layout.height - layout.top - height
    box = (left / layout.width, bottom / layout.height, _BAR / layout.width, height / layout.height)
    bar = figure.colorbar(mesh, cax=figure.add_axes(box), ticks=[0, 0.5, 1])
    bar.set_label("attention", color=_QUIET, fontsize=_SMALL, labelpad=2)
    _style_bar(bar)


def _style_bar(bar: Any) -> None:
    bar.outline.set_edgecolor(_GRID)
    bar.ax.tick_params(labelsize=_SMALL, labelcolor=_QUIET, color=_QUIET, length=2, pad=2)


def _write(axes: Axes, x: float, y: float, text: str, fonts: list[str], size: float = _WORD, **style: Any) -> None:
    axes.text(x, y, text, fontfamily=fonts, fontsize=size, parse_math=False, **{"color": _INK, **style})


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of this size with axes in inches from its upper left corner."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=_DPI)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return figure, axes


def _sizes(texts: Sequence[str], fonts: list[str], size: float = _WORD) -> _Floats:
    """[texts, 2]: width and height of each text in inches."""
    figure, axes = _canvas(1, 1)
    for text in texts:
        _write(axes, 0, 0, text, fonts, size=size)
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    extents = [text.get_window_extent(renderer) for text in axes.texts]
    return np.array([(extent.width, extent.height) for extent in extents]) / _DPI


def _label(word: str) -> str:
    """The word as it can be written: no control characters, and the middle of a very long one left out."""
    visible = "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in ("Cc", "Cs") else c for c in word)
    half = _LONGEST_LABEL // 2
    return visible if len(visible) <= _LONGEST_LABEL else f"{visible[:half]}…{visible[1 - half :]}"


_LOCK = threading.RLock()


@contextmanager
def _drawing() -> Iterator[None]:
    import matplotlib

    with _LOCK, matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # `_fonts` says it once
        yield


def _fonts(texts: Iterable[str]) -> list[str]:
    """The font families that the texts need together, matplotlib's own first; warns of scripts that none has."""
    # Control, format and surrogate characters, and spaces, have no glyph of their own.
    missing = np.array(sorted({ord(c) for c in "".join(texts) if unicodedata.category(c)[0] not in "CZ"}), dtype=int)
    families = [_FONT]
    with _LOCK:
        for family, file in _installed_fonts():
            known = np.isin(missing, _characters(file))
            families += [family] if known.any() and family != _FONT else []
            missing = missing[~known]
            if missing.size == 0:
                return families
    warnings.warn(
        f"no installed font can draw {', '.join(_scripts(missing))} (such as U+{missing[0]:04X}): "
        "install one, for example of the Noto family",
        stacklevel=3,
    )
    return families


def _scripts(codes: Iterable[int]) -> list[str]:
    from fontTools.unicodedata import script, script_name  # type: ignore[import-untyped]  # comes with matplotlib

    return sorted({script_name(script(chr(code))) for code in codes})


def _installed_fonts() -> list[tuple[str, str]]:
    """Upright fonts of normal weight as (family, file): matplotlib's own, then Noto Sans, then any other."""
    from matplotlib.font_manager import fontManager

    # TeX's fonts do not hold the characters that they claim; Last Resort has a box for every character.
    fonts = {
        (font.name, font.fname)
        for font in fontManager.ttflist
        if font.style == "normal" and font.weight == 400 and not font.name.startswith(("cm", "Last Resort"))
    }
    return sorted(fonts, key=lambda font: (font[0] != _FONT, not font[0].startswith("Noto Sans"), font))


@cache
def _characters(file: str) -> NDArray[np.int32]:
    from matplotlib.font_manager import get_font

    try:
        return np.fromiter(get_font(file).get_charmap(), dtype=np.int32)
    except (OSError, RuntimeError):  # removed since matplotlib listed it, or broken
        return np.array([], dtype=np.int32)
