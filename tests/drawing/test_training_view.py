"""The view of a training: its charts, picture and page. tests/drawing/test_browser.py opens the page."""

from __future__ import annotations

import itertools
import math
import re
from html.parser import HTMLParser

import pytest

from nmt.drawing.training_view import TrainingPage, charts_of, draw_history, training_page

ROWS = [
    {"pass": "1", "step": "10", "train_loss": "4.0", "validation_loss": "3.5", "validation_bleu": "0.5",
     "validation_aer": "0.5", "learning_rate": "0.001", "tokens_per_second": "900", "seconds": "9"},
    {"pass": "2", "step": "20", "train_loss": "3.0", "validation_loss": "2.5", "validation_bleu": "12.5",
     "validation_aer": "0.25", "learning_rate": "0.0005", "tokens_per_second": "1000", "seconds": "18"},
]  # fmt: skip


def test_a_history_has_charts_of_loss_measures_rate_and_speed() -> None:
    charts = charts_of(ROWS)
    assert [chart.title for chart in charts] == [
        "loss", "BLEU", "alignment error rate", "learning rate", "target tokens per second so far",
    ]  # fmt: skip
    assert [(curve.name, curve.points) for curve in charts[0].curves] == [
        ("training", [(10, 4.0), (20, 3.0)]),
        ("validation", [(10, 3.5), (20, 2.5)]),
    ]


def test_cells_without_a_finite_number_give_no_point() -> None:
    rows = [ROWS[0] | {"validation_bleu": "", "train_loss": "nan"}, ROWS[1] | {"train_loss": "inf"}, {"step": "30"}]
    charts = {chart.title: chart for chart in charts_of(rows)}
    assert charts["BLEU"].curves[0].points == [(20, 12.5)]
    assert [curve.name for curve in charts["loss"].curves] == ["validation"]
    assert charts_of([]) == charts_of([{"step": "x"}]) == []


def test_the_picture_has_a_chart_for_each_and_marks_the_best_step() -> None:
    figure = draw_history(charts_of(ROWS), "a $name_", 20)
    figure.canvas.draw()
    assert len(figure.axes) == 5
    for axes in figure.axes:
        assert [line.get_xdata()[0] for line in axes.lines if line.get_label() == "best"] == [20]
    boxes = [axes.get_tightbbox() for axes in figure.axes] + [text.get_window_extent() for text in figure.texts]
    assert all(box.x0 >= 0 and box.y0 >= 0 for box in boxes)
    assert all(box.x1 <= figure.bbox.width and box.y1 <= figure.bbox.height for box in boxes)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    assert len(draw_history(charts_of(ROWS[:1]), "one validation").axes) == 5


def test_the_svg_places_points_by_their_values() -> None:
    page = made()
    (points,) = re.findall(r'data-name="training"[^>]*><polyline points="([^"]*)"', page)
    (x, y), (x_after, y_after) = ([float(number) for number in point.split(",")] for point in points.split(" "))
    assert x < x_after and y < y_after  # the loss falls, and SVG counts from the top
    values = dict(re.findall(r'data-name="([^"]*)" data-values="([^"]*)"', page))
    assert values["training"] == "10:4;20:3"
    assert all(0 <= float(number) <= 360 for number in re.findall(r'c[xy]="([^"]*)"', page))


@pytest.mark.parametrize("value", [0.0, 1e-9, 1e12, -5.0])
def test_a_flat_curve_can_be_drawn(value: float) -> None:
    page = made(rows=[{"step": 5, "train_loss": value}, {"step": 6, "train_loss": value}])
    numbers = [float(number) for number in re.findall(r'\bc[xy]="([^"]*)"', page)]
    assert numbers and all(math.isfinite(number) for number in numbers)


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def made(evil: str = "", rows: list[dict[str, object]] | None = None) -> str:
    charts = charts_of(rows or ROWS)  # type: ignore[arg-type]
    return training_page(TrainingPage(evil or "demo", {evil or "steps": evil or "20"}, charts, 20, [], [evil], evil))


@pytest.mark.parametrize("text", ["</script><script>x</script>", "<!--", "$title ${data}", "\ud800", '"><img src=x>'])
def test_texts_add_no_element_and_the_page_loads_nothing(text: str) -> None:
    page = made(text)
    assert Tags(page).tags == Tags(made("plain")).tags
    assert not re.search(r"https?:|src=|@import|url\(", page.replace("src=x", ""))
    page.encode()


def test_a_page_without_a_validation_can_be_made() -> None:
    assert "<main " in training_page(TrainingPage("demo", {}, [], None, [], [], ""))
