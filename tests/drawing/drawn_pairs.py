"""Sentence pairs to draw, and what tests read from the figures."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from nmt.alignment.word_alignment import WordAlignment


def made(source: Any, target: Any, weights: Any, end_of_sentence: Any) -> WordAlignment:
    return WordAlignment(source, target, np.asarray(weights, np.float32), np.asarray(end_of_sentence, np.float32))


def alignment(source: str, target: str) -> WordAlignment:
    s, t = tuple(source.split()), tuple(target.split())
    weights = np.random.default_rng(len(s)).dirichlet(np.full(len(s) + 1, 0.3), size=len(t))
    return made(s, t, weights[:, :-1], weights[:, -1])


def erasure(pair: WordAlignment) -> np.ndarray:
    return np.random.default_rng(1).normal(0.5, 1.0, pair.weights.shape)


SMALL = alignment("ein kleiner Hund", "a small dog")


COMPOUND = "Donaudampfschifffahrtsgesellschaftsgesetz"


def texts(figure: Figure) -> list[Text]:
    """All visible texts, the ticks of the colour bar included."""
    found = [artist for artist in figure.findobj(Text) if isinstance(artist, Text)]
    return [text for text in found if text.get_text() and text.get_visible()]


def labels(figure: Figure) -> list[str]:
    return [text.get_text() for text in texts(figure)]


def corners(mesh: QuadMesh) -> np.ndarray:
    """[rows + 1, columns + 1, (x, y)] in inches."""
    return np.asarray(mesh.get_coordinates())


def meshes(figure: Figure) -> tuple[QuadMesh, QuadMesh]:
    """The cells of the words, and the cells of the end of sentence to their right."""
    found = [mesh for mesh in figure.axes[0].collections if isinstance(mesh, QuadMesh)]
    words, end = sorted(found, key=lambda mesh: corners(mesh)[0, 0, 0])
    return words, end


def extent(mesh: QuadMesh) -> Bbox:
    """The extent of the cells in pixels from the lower left corner."""
    points = mesh.get_window_extent().get_points()
    return Bbox([points.min(axis=0), points.max(axis=0)])


def check_layout(figure: Figure) -> None:
    """Checks that no text is cut, that texts do not overlap, and that labels do not cover cells.

    A figure may have several heat maps, which must not overlap either.
    """
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    for name, box in boxes:
        assert 0 <= box.x0 < box.x1 <= width and 0 <= box.y0 < box.y1 <= height, f"{name} is cut"
    for (one, box), (other, other_box) in itertools.combinations(boxes, 2):
        assert not box.overlaps(other_box), f"{one} overlaps {other}"
    all_cells = [extent(mesh) for mesh in figure.findobj(QuadMesh) if mesh.axes.get_label() != "<colorbar>"]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(all_cells, 2))
    for cells in all_cells:
        for name, box in boxes:
            inside = cells.x0 <= box.x0 and box.x1 <= cells.x1 and cells.y0 <= box.y0 and box.y1 <= cells.y1
            assert inside or not box.overlaps(cells), f"{name} lies over the cells"
