"""The figures of a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fake_translator
import pytest

from nmt.alignment.links import Gold
from nmt.config.reading import build_config
from nmt.training.comparison import figures
from nmt.training.comparison.plan import VariantRun
from nmt.translation.translator import Translator


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


@pytest.fixture
def attention(monkeypatch: pytest.MonkeyPatch) -> None:
    """Translators whose n-th target word attends to the n-th source word."""

    class Diagonal:
        def align(self, sources: list[str], targets: list[str]) -> list[Any]:
            return [fake_translator.make_pair(sources[0], targets[0], truncated=False)]

    monkeypatch.setattr(Translator, "load", lambda *_, **__: Diagonal())


def variant(name: str, score: str = "additive") -> VariantRun:
    return VariantRun(name, 1, build_config({"model": {"attention": {"score": score}}}, None, {}))


@pytest.mark.usefixtures("attention")
def test_each_variant_with_attention_is_a_heat_map_with_the_gold_links(drawn: list[Any]) -> None:
    runs = [variant("one"), variant("none", "none"), variant("two", "dot")]
    gold = Gold(frozenset({(0, 0)}), frozenset({(0, 0), (2, 1)}))
    assert figures.save_attention(runs, "a b c", "x y", Path("attention.png"), gold)
    panels = [axes for axes in drawn[0].axes if axes.get_title()]
    assert [panel.get_title() for panel in panels] == ["one", "two"]
    for panel in panels:
        assert panel.images[0].get_array().tolist() == [[1, 0, 0], [0, 1, 0]]
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["a", "b", "c"]
        assert sorted(patch.get_xy() for patch in panel.patches) == [(-0.5, -0.5), (1.5, 0.5)]
    rows = [[tick.get_text() for tick in panel.get_yticklabels()] for panel in panels]
    assert rows == [["x", "y"], []]  # words stand at the edge of the grid only


@pytest.mark.usefixtures("attention")
def test_a_source_from_right_to_left_is_drawn_from_right_to_left(drawn: list[Any]) -> None:
    figures.save_attention(
        [variant("one")], "\u05d4\u05e1\u05e4\u05e8 \u05db\u05d0\u05df", "x y", Path("attention.png")
    )
    left, right = drawn[0].axes[0].get_xlim()
    assert left > right


@pytest.mark.usefixtures("attention")
def test_five_variants_take_two_rows(drawn: list[Any]) -> None:
    figures.save_attention([variant(f"v{n}") for n in range(5)], "a b", "x y", Path("attention.png"))
    shown = [axes.get_visible() for axes in drawn[0].axes[:8]]
    assert shown == [True] * 5 + [False] * 3


def test_without_attention_nothing_is_drawn(drawn: list[Any], tmp_path: Path) -> None:
    old = tmp_path / "attention.png"
    old.write_bytes(b"old")
    assert not figures.save_attention([variant("none", "none")], "a b", "x y", old)
    assert not drawn and not old.exists()
