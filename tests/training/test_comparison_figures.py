"""The figures of a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nmt.training.comparison import figures


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are saved."""
    saved: list[Any] = []
    monkeypatch.setattr(figures, "save_figure", lambda figure, path: saved.append(figure))
    return saved


def test_a_single_length_is_a_marker_for_each_variant_and_no_line(drawn: list[Any]) -> None:
    figures.save_curves(["1-20"], {"one": [[10.0], [14.0]], "two": [[11.0]]}, Path("by_length.png"))
    (axes,) = drawn[0].axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1-20"]
    means = [container.lines[0] for container in axes.containers]
    assert [line.get_ydata()[0] for line in means] == [12.0, 11.0]
    assert {line.get_linestyle() for line in means} == {"None"}
    assert means[0].get_xdata()[0] < 0 < means[1].get_xdata()[0]
    (bar,) = axes.collections[0].get_segments()
    assert sorted(bar[:, 1]) == [10.0, 14.0]


def test_the_bar_of_equal_values_has_no_length(drawn: list[Any]) -> None:
    """The mean of three times 0.1 is rounded upwards."""
    figures.save_curves(["1-20"], {"one": [[0.1], [0.1], [0.1]]}, Path("by_length.png"))
    (bar,) = drawn[0].axes[0].collections[0].get_segments()
    assert list(bar[:, 1]) == pytest.approx([0.1, 0.1])


def test_several_lengths_are_a_line_for_each_variant(drawn: list[Any]) -> None:
    figures.save_curves(["1-5", "6-10"], {"one": [[10.0, 8.0], [14.0, 6.0]]}, Path("by_length.png"))
    (axes,) = drawn[0].axes
    assert [list(line.get_ydata()) for line in axes.lines] == [[12.0, 7.0]]
