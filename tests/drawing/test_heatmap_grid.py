"""Grids of small heat maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt.drawing import (
    PlotError,
    save_figure,
    show_heatmaps,
)

MATRICES = np.random.default_rng(0).dirichlet(np.ones(6), size=(2, 3, 5))  # [rows, columns, queries, keys]


def test_show_heatmaps_draws_a_grid_with_one_colour_scale(tmp_path: Path) -> None:
    figure = show_heatmaps(MATRICES, "Keys", "Queries", ["Head 1", "Head 2", "$3"])
    *grid, bar = figure.axes
    images = [axes.images[0] for axes in grid]
    for image, matrix in zip(images, MATRICES.reshape(6, 5, 6), strict=True):
        np.testing.assert_array_equal(np.asarray(image.get_array()), matrix)
        assert image.get_clim() == bar.get_ylim() == (0, MATRICES.max())
    assert [axes.get_title() for axes in grid] == ["Head 1", "Head 2", "$3", "", "", ""]
    assert [axes.get_xlabel() for axes in grid] == ["", "", "", "Keys", "Keys", "Keys"]
    assert [axes.get_ylabel() for axes in grid] == ["Queries", "", "", "Queries", "", ""]
    assert save_figure(figure, tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")


def test_show_heatmaps_takes_negative_values_and_other_colour_maps() -> None:
    image = show_heatmaps(MATRICES - 0.5, "Keys", "Queries", cmap="Reds").axes[0].images[0]
    assert image.get_clim() == (MATRICES.min() - 0.5, MATRICES.max() - 0.5)
    assert image.get_cmap().name == "Reds"


def test_show_heatmaps_refuses_unknown_colour_maps_and_infinite_values() -> None:
    with pytest.raises(PlotError, match="^matplotlib has no colour map 'blue'"):
        show_heatmaps(MATRICES, "Keys", "Queries", cmap="blue")
    with pytest.raises(PlotError, match="^matrices: expected finite numbers"):
        show_heatmaps(np.full((1, 1, 2, 2), np.inf), "Keys", "Queries")


@pytest.mark.parametrize("matrices", [np.ones((2, 2)), np.ones((1, 1, 0, 3))])
def test_show_heatmaps_refuses_other_shapes(matrices: Any) -> None:
    with pytest.raises(PlotError, match=r"^matrices have shape \[.*\]: expected \[rows, columns, queries, keys\]"):
        show_heatmaps(matrices, "Keys", "Queries")


def test_show_heatmaps_needs_a_title_for_each_column() -> None:
    with pytest.raises(PlotError, match="^2 titles for 3 columns"):
        show_heatmaps(MATRICES, "Keys", "Queries", ["a", "b"])
