"""Pictures as files, each written whole or not at all, with the same bytes for the same input."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from nmt.alignment import WordAlignment
from nmt.links import Gold
from nmt.plotting.canvas import DPI, PlotError, drawing
from nmt.plotting.fonts import find_fonts, pdf_font_type
from nmt.plotting.heatmaps import Picture, heatmap, heatmap_pages, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Without dates and versions: the same input gives the same bytes.
_METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    ".svg": {"Date": None, "Creator": None},
}
_MOST_PIXELS = 8000  # of the longer side: longer sentences get fewer pixels a cell


def save_heatmap(
    alignment: WordAlignment,
    path: str | os.PathLike[str],
    title: str = "",
    gold: Gold | None = None,
    erasure: ArrayLike | None = None,
) -> Path:
    """Draws `heatmap` into a .png, .pdf or .svg file; the same input gives the same bytes.

    Raises:
        PlotError: another suffix, a side without words, or a place that cannot be written.
    """
    _check_suffix(Path(path))
    return save_figure(heatmap(alignment, title, gold, erasure), path)


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Writes a figure as .png, .pdf or .svg, whole or not at all; makes the directories above it.

    Raises:
        PlotError: another suffix, or a place that cannot be written.
    """
    path = Path(path)
    suffix = _check_suffix(path)
    dpi = min(DPI, _MOST_PIXELS / max(figure.get_size_inches()))
    with _whole(path) as unfinished, _drawing_with(_families(figure)):
        figure.savefig(unfinished, format=suffix[1:], dpi=dpi, metadata=_METADATA[suffix])
    return path


def save_pages(pictures: Iterable[Picture], path: str | os.PathLike[str]) -> Path:
    """Draws many pairs into one .pdf file, as many on a page as fit (see `heatmap_pages`).

    Raises:
        PlotError: another suffix, no pictures, a side without words, or a place that cannot be written.
    """
    from matplotlib.backends.backend_pdf import PdfPages

    path = Path(path)
    if path.suffix.lower() != ".pdf":
        raise PlotError(f"{path}: expected a name that ends in .pdf, which can have several pages")
    pictures = list(pictures)
    if not pictures:
        raise PlotError(f"{path}: nothing to draw: no sentence pairs")
    fonts = find_fonts(text for picture in pictures for text in written(picture))
    with (
        _whole(path) as unfinished,
        _drawing_with(fonts),
        PdfPages(unfinished, metadata=_METADATA[".pdf"]) as pages,
    ):
        for figure in heatmap_pages(pictures):
            pages.savefig(figure)
    return path


@contextmanager
def _drawing_with(families: Iterable[str]) -> Iterator[None]:
    """`drawing`, for a file with text in these font families."""
    import matplotlib

    with drawing():
        matplotlib.rcParams["pdf.fonttype"] = pdf_font_type(families)
        yield


def _families(figure: Figure) -> set[str]:
    from matplotlib.text import Text

    return {family for text in figure.findobj(Text) for family in text.get_fontfamily()}


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A name beside the place; what is written there gets its own name at the end, or is removed."""
    unfinished = path.with_name(f".{uuid.uuid4().hex}{path.suffix.lower()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield unfinished
        os.replace(unfinished, path)
    except OSError as error:
        raise PlotError(f"{path} cannot be written: {error.strerror}; choose another place") from None
    finally:
        with suppress(OSError):  # the usual case: it has its name by now
            unfinished.unlink()


def _check_suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in _METADATA:
        raise PlotError(f"{path}: expected a name that ends in {', '.join(_METADATA)}")
    return suffix
