"""A chart as SVG inside of a page. Its points are in attributes, which the page's script reads for hovering."""

from __future__ import annotations

import html
from collections.abc import Sequence

from nmt.drawing.training_view.charts import Chart, Curve, format_number

WIDTH, HEIGHT = 360, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 12, 26
_MOST_TICKS = 5
_MOST_MARKS = 60
"""Curves with more points have no dots."""


class _Scale:
    """Maps values to positions in pixels."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        self.low, self.high = min(values), max(values)
        if self.low == self.high:
            margin = abs(self.low) / 10 or 1.0
            self.low, self.high = self.low - margin, self.high + margin
        self.begin, self.end = begin, end

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.begin + share * (self.end - self.begin), 1)

    def ticks(self) -> list[float]:
        """Round values within the scale."""
        from matplotlib.ticker import MaxNLocator

        found = MaxNLocator(_MOST_TICKS, steps=[1, 2, 2.5, 5, 10]).tick_values(self.low, self.high)
        return [float(value) for value in found if self.low <= value <= self.high]


def svg_chart(chart: Chart, best: int | None) -> str:
    """The chart as an SVG element.

    Args:
        chart: at least one curve, each with points.
        best: step of the best weights, marked by a line.
    """
    steps = [x for curve in chart.curves for x, _ in curve.points]
    x = _Scale([*steps, 0.0], _LEFT, WIDTH - _RIGHT)
    y = _Scale([value for curve in chart.curves for _, value in curve.points], HEIGHT - _BOTTOM, _TOP)
    parts = [_grid(x, y)]
    if best is not None and x.low <= best <= x.high:
        parts.append(f'<line class="best" x1="{x(best)}" x2="{x(best)}" y1="{_TOP}" y2="{HEIGHT - _BOTTOM}"/>')
    kinds = ["second"] if len(chart.curves) == 1 else ["first", "second"]
    parts += [_curve(curve, kind, x, y) for kind, curve in zip(kinds, chart.curves, strict=True)]
    name = html.escape(f"{chart.title} over the steps", quote=True)
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">{"".join(parts)}'
        f'<line class="cursor" y1="{_TOP}" y2="{HEIGHT - _BOTTOM}" visibility="hidden"/></svg>'
    )


def _grid(x: _Scale, y: _Scale) -> str:
    lines = [
        f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y(value)}" y2="{y(value)}"/>'
        f'<text x="{_LEFT - 6}" y="{y(value) + 3.5}" text-anchor="end">{format_number(value)}</text>'
        for value in y.ticks()
    ]
    lines += [
        f'<text x="{x(value)}" y="{HEIGHT - 8}" text-anchor="middle">{value:,.0f}</text>'
        for value in x.ticks()
        if value == int(value)
    ]
    return "".join(lines)


def _curve(curve: Curve, kind: str, x: _Scale, y: _Scale) -> str:
    places = [(x(step), y(value)) for step, value in curve.points]
    path = " ".join(f"{across},{down}" for across, down in places)
    dots = "".join(f'<circle cx="{across}" cy="{down}" r="2.2"/>' for across, down in places)
    values = ";".join(f"{step:.0f}:{format_number(value)}" for step, value in curve.points)
    name = html.escape(curve.name, quote=True)
    marks = dots if len(places) <= _MOST_MARKS else ""
    return f'<g class="{kind}" data-name="{name}" data-values="{values}"><polyline points="{path}"/>{marks}</g>'
