"""Pages with as many heat maps as fit, and the PDF file of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from drawn_pairs import SMALL, alignment, check_layout, erasure
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.transforms import Bbox

from nmt.drawing import (
    Picture,
    PlotError,
    heatmap_pages,
    save_pages,
)
from nmt.drawing.pdf_pages import MARGIN, PAGE, place_on_pages

inches = st.floats(0.5, 25.0)


@given(st.lists(st.tuples(inches, inches), min_size=1, max_size=30))
def test_pages_have_every_heat_map_once_in_order_without_overlap(sizes: list[tuple[float, float]]) -> None:
    maps: list[Any] = [SimpleNamespace(layout=SimpleNamespace(width=width, height=height)) for width, height in sizes]
    placed = list(place_on_pages(maps))
    assert [where.heat_map for where in placed] == maps
    assert placed[0].begins_page
    pages: list[list[Bbox]] = []
    for where in placed:
        if where.begins_page:
            pages.append([])
        pages[-1].append(
            Bbox.from_bounds(where.left, where.top, where.heat_map.layout.width, where.heat_map.layout.height)
        )
    for page in pages:
        assert not any(one.overlaps(other) for one, other in itertools.combinations(page, 2))
        assert all(box.x0 >= MARGIN and box.y0 >= MARGIN for box in page)
        # Only a heat map that is larger than a page may cross the margins.
        assert len(page) == 1 or all(box.x1 <= PAGE[0] - MARGIN and box.y1 <= PAGE[1] - MARGIN for box in page)


def test_a_pair_larger_than_a_page_gets_a_larger_page() -> None:
    pair = alignment("a " * 60, "b")
    wide = [Picture(pair, erasure=erasure(pair))] * 2
    sizes_of = [tuple(page.get_size_inches()) for page in heatmap_pages(wide)]
    assert len(sizes_of) == 2
    assert all(width > PAGE[0] and height == PAGE[1] for width, height in sizes_of)


def test_the_parts_of_a_long_pair_fit_on_pages() -> None:
    pages = list(heatmap_pages([Picture(alignment("a " * 120, "b " * 90))]))
    assert {tuple(page.get_size_inches()) for page in pages} == {PAGE}
    check_layout(pages[0])


def test_a_page_shows_several_small_pairs_completely() -> None:
    (page,) = heatmap_pages([Picture(SMALL, f"pair {i}", None, erasure(SMALL)) for i in range(4)])
    check_layout(page)


def test_pages_are_one_pdf_and_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    pair = alignment("a " * 60, "b")
    pictures = [Picture(pair, f"pair {i}", None, erasure(pair)) for i in range(3)]
    seen: list[Picture] = []
    path = save_pages(pictures, tmp_path / "new" / "a.pdf", lambda some: (seen.append(p) or p for p in some))
    assert seen == pictures
    assert path.read_bytes().count(b"/Type /Page\n") + path.read_bytes().count(b"/Type /Page ") == 3
    assert save_pages(pictures, tmp_path / "b.pdf").read_bytes() == path.read_bytes()
    assert list(path.parent.iterdir()) == [path]


def test_pages_without_pairs_or_with_another_suffix_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlotError, match=r"a.png: expected a name that ends in .pdf"):
        save_pages([Picture(SMALL)], tmp_path / "a.png")
    with pytest.raises(PlotError, match="nothing to draw: no sentence pairs"):
        save_pages([], tmp_path / "a.pdf")
    assert list(tmp_path.iterdir()) == []
