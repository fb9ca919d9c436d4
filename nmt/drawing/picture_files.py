"""Writes pictures to files: each whole or not at all, with the same bytes for the same input."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from nmt.alignment.hard_links import DEFAULT_LINKING, Linking
from nmt.alignment.links import Gold
from nmt.alignment.word_alignment import WordAlignment
from nmt.drawing.canvas import DPI, PlotError, drawing
from nmt.drawing.fonts import find_fonts, pdf_font_type
from nmt.drawing.heatmaps import heatmap
from nmt.drawing.pdf_pages import heatmap_pages
from nmt.drawing.picture import Aligned, Picture
from nmt.files.atomic_writing import replacement_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Dates and versions are left out, so that the same input gives the same bytes.
_METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    ".svg": {"Date": None, "Creator": None},
}
_MOST_PIXELS = 8000  # of the longer side; larger figures get fewer pixels per inch


def save_heatmap(
    alignment: WordAlignment | Aligned,
    path: str | os.PathLike[str],
    title: str = "",
    gold: Gold | None = None,
    erasure: ArrayLike | None = None,
    linking: Linking = DEFAULT_LINKING,
    merged: str = "",
) -> Path:
    """Draws `heatmap` into a .png, .pdf or .svg file; equal inputs give equal bytes.

    Raises:
        PlotError: another suffix, a side without words, or a path that cannot be written.

    Example:
        >>> translator = nmt.Translator.load("saved_models/demo")
        >>> nmt.save_heatmap(translator.translate_one("It is hot ."), "hot.png")
        PosixPath('hot.png')
    """
    check_suffix(Path(path))
    return save_figure(heatmap(alignment, title, gold, erasure, linking, merged), path)


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Writes a figure as .png, .pdf or .svg, whole or not at all, and makes missing directories.

    Raises:
        PlotError: another suffix, or a path that cannot be written.
    """
    path = Path(path)
    suffix = check_suffix(path)
    dpi = min(DPI, _MOST_PIXELS / max(figure.get_size_inches()))
    with replacement_for(path, PlotError) as place, _drawing_with(_families(figure)):
        figure.savefig(place, format=suffix[1:], dpi=dpi, metadata=_METADATA[suffix])
    return path


def save_pages(
    pictures: Sequence[Picture],
    path: str | os.PathLike[str],
    watched: Callable[[Iterable[Picture]], Iterable[Picture]] = iter,
) -> Path:
    """Draws many pairs into one .pdf file, as many on a page as fit (see `heatmap_pages`).

    Args:
        pictures: drawn in this order.
        path: the file.
        watched: wraps the pictures while they are drawn, to show progress.

    Raises:
        PlotError: another suffix, no pictures, a side without words, or a path that cannot be written.
    """
    from matplotlib.backends.backend_pdf import PdfPages

    path = Path(path)
    if path.suffix.lower() != ".pdf":
        raise PlotError(f"{path}: expected a name that ends in .pdf, which can have several pages")
    if not pictures:
        raise PlotError(f"{path}: nothing to draw: no sentence pairs")
    fonts = find_fonts(text for picture in pictures for text in picture.user_texts)
    with (
        replacement_for(path, PlotError) as place,
        _drawing_with(fonts),
        PdfPages(place, metadata=_METADATA[".pdf"]) as pages,
    ):
        for figure in heatmap_pages(watched(pictures)):
            pages.savefig(figure)
    return path


@contextmanager
def _drawing_with(families: Iterable[str]) -> Iterator[None]:
    """`drawing` for a file with text in these font families."""
    import matplotlib

    with drawing():
        matplotlib.rcParams["pdf.fonttype"] = pdf_font_type(families)
        yield


def _families(figure: Figure) -> set[str]:
    from matplotlib.text import Text

    return {family for text in figure.findobj(Text) for family in text.get_fontfamily()}


def check_suffix(path: Path) -> str:
    """The suffix of a file for one picture, in lower case.

    Raises:
        PlotError: pictures cannot be written in that format.
    """
    suffix = path.suffix.lower()
    if suffix not in _METADATA:
        raise PlotError(f"{path}: expected a name that ends in {', '.join(_METADATA)}")
    return suffix
