"""The drawing of two aligners' links beside each other."""

from __future__ import annotations

import pytest

from nmt.alignment.links import Gold
from nmt.drawing import PlotError, pixels
from nmt.drawing.link_comparison import ComparedPair, draw_link_comparison, link_kinds, most_different

GOLD = Gold(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (2, 1)}))


def pair(line: int, first: set[tuple[int, int]], second: set[tuple[int, int]]) -> ComparedPair:
    return ComparedPair(line, ["a", "b", "c"], ["x", "y"], frozenset(first), frozenset(second), GOLD)


def test_the_kind_of_each_cell() -> None:
    assert link_kinds(frozenset({(0, 0), (0, 1)}), GOLD) == {
        (0, 0): "right", (0, 1): "wrong", (1, 1): "missing", (2, 1): "possible"
    }  # fmt: skip
    assert link_kinds(frozenset({(2, 1)}), GOLD)[(2, 1)] == "right"


def test_the_pairs_that_differ_most_are_drawn_in_order() -> None:
    same, worse = {(0, 0), (1, 1)}, {(0, 1), (1, 0)}
    pairs = [pair(1, same, same), pair(2, same, worse), pair(3, same, {(0, 0)}), pair(4, worse, same)]
    assert [one.line for one in most_different(pairs, 3)] == [2, 3, 4]
    long = pairs[1]._replace(source=["w"] * 61)
    empty = pairs[1]._replace(target=[])
    assert most_different([long, empty]) == []


def test_a_picture_differs_where_the_links_differ() -> None:
    first = pixels(draw_link_comparison([pair(1, {(0, 0)}, {(0, 0)})], ("one", "two")))
    second = pixels(draw_link_comparison([pair(1, {(0, 0)}, {(1, 1)})], ("one", "two")))
    assert first.shape == second.shape
    changed = (first != second).any(axis=(0, 2)).nonzero()[0]
    assert changed.min() > 200  # pixels: one inch; the left panel ends before it


def test_columns_of_a_source_from_right_to_left_are_exchanged() -> None:
    """A link of the first word is drawn where the last word of another script has its link."""
    arabic = pair(1, {(0, 0)}, {(0, 0)})._replace(source=["ا", "ا", "ا"], gold=Gold(frozenset(), frozenset()))
    third, first = ([(2, 0)], [(0, 0)])
    latin = [arabic._replace(source=["l"] * 3, first=frozenset(one), second=frozenset(one)) for one in (third, first)]

    def cross(one: ComparedPair) -> list[float]:
        lines = draw_link_comparison([one], ("one", "two")).axes[0].lines
        return [float(line.get_xdata()[0]) for line in lines if line.get_linewidth() > 1]

    places = [cross(one) for one in (arabic, *latin)]
    assert places[0] == pytest.approx(places[1]) != pytest.approx(places[2])


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(PlotError, match="^nothing to draw"):
        draw_link_comparison([], ("one", "two"))
