"""Maps of words: names that do not overlap, one scale, hollow dots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.text import Text

from nmt.drawing import Dot, Legend, PlotError, draw_words
from nmt.drawing.word_map import place_labels


def overlap(a: Any, b: Any) -> bool:
    return bool(a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_names_do_not_overlap_and_stay_on_the_map(seed):
    random = np.random.default_rng(seed)
    dots = [Dot(f"word{i:03d}" * (1 + i % 2), *random.normal(size=2)) for i in range(150)]
    figure, left_out = draw_words(dots, "A title", ("one", "two"))
    renderer = figure.canvas.get_renderer()
    texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    boxes = [text.get_window_extent(renderer) for text in texts]
    assert 0 < left_out < 150
    assert sum(text.get_text().startswith("word") for text in texts) == 150 - left_out
    assert f"{left_out} of 150 dots have no room for their names" in [text.get_text() for text in texts]
    assert not any(overlap(a, b) for i, a in enumerate(boxes) for b in boxes[:i])
    page = figure.bbox
    assert all(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= page.x1 and box.y1 <= page.y1 for box in boxes)


def test_the_first_name_is_placed_first_and_names_avoid_dots():
    # The first name cannot be to the right of its dot, because the second dot is there.
    boxes = place_labels(np.array([[2, 1], [2.2, 1]]), np.array([[0.5, 0.1], [0.5, 0.1]]), (4, 2))
    np.testing.assert_allclose(boxes, [[1.45, 1.95, 0.95, 1.05], [2.25, 2.75, 0.95, 1.05]])
    # The name is wider than the field.
    assert np.isnan(place_labels(np.array([[2.0, 1.0]]), np.array([[4.5, 0.1]]), (4, 2))).all()


def test_both_axes_have_one_scale_and_rare_words_are_hollow():
    figure, _ = draw_words([Dot("a", 0, 0), Dot("b", 2, 0), Dot("c", 0, 1, hollow=True)], legend=Legend("rare"))
    dots = figure.axes[1].collections
    places = np.array([dot.get_offsets()[0] for dot in dots])
    across, up = places[1] - places[0], places[2] - places[0]
    assert across[0] == pytest.approx(-2 * up[1])  # inches are counted from the top
    assert [tuple(dot.get_facecolor()[0][:3]) == (1, 1, 1) for dot in dots] == [False, False, True]
    written = [text.get_text() for text in figure.findobj(Text)]
    assert {"○", "rare"} <= {*written}
    figure, left_out = draw_words([Dot("same", 1, 1)])
    assert left_out == 0
    assert not any("→" in text.get_text() or "○" in text.get_text() for text in figure.findobj(Text))


def test_two_kinds_of_words_differ_in_shape_and_colour():
    legend = Legend("rare", "English", "French")
    figure, _ = draw_words([Dot("a", 0, 0), Dot("b", 2, 0, square=True), Dot("c", 0, 1, square=True)], legend=legend)
    disc, square, other = figure.axes[1].collections
    assert len(square.get_paths()[0].vertices) < len(disc.get_paths()[0].vertices)
    assert tuple(square.get_facecolor()[0]) == tuple(other.get_facecolor()[0]) != tuple(disc.get_facecolor()[0])
    signs = {text.get_text(): text.get_color() for text in figure.findobj(Text)}
    assert {"●", "English", "■", "French"} <= {*signs} and "rare" not in signs
    assert to_rgba(signs["■"]) == tuple(square.get_facecolor()[0]) != to_rgba(signs["●"])
    figure, _ = draw_words([Dot("a", 0, 0), Dot("b", 2, 0)], legend=legend)
    assert "■" not in [text.get_text() for text in figure.findobj(Text)]


@pytest.mark.parametrize("dots", [[], [Dot("a", math.nan, 0)]])
def test_missing_or_infinite_positions_are_refused(dots):
    with pytest.raises(PlotError, match="at finite positions"):
        draw_words(dots)
