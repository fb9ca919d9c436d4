"""The charts of a training: which columns of its history they show, and the points of their curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Point = tuple[float, float]
"""Step and value."""

_FIXED = {"pass", "epochs", "step", "train_loss", "validation_loss", "learning_rate", "tokens_per_second", "seconds"}
_NAMES = {"bleu": "BLEU", "aer": "alignment error rate", "chrf": "chrF"}
_MEASURED = "validation_"


class Curve(NamedTuple):
    """A value over the steps."""

    name: str
    points: list[Point]


class Chart(NamedTuple):
    """One or two curves on the same axes."""

    title: str
    curves: list[Curve]


def charts_of(rows: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """The charts of a history: loss, each other measure of validation, learning rate and speed.

    A value that another program cut from a row, or that is not finite, gives no point. A chart without points is left
    out.

    Args:
        rows: the rows of history.csv, as text or as numbers.
    """
    measured = dict.fromkeys(name for row in rows for name in row if name.startswith(_MEASURED) and name not in _FIXED)
    charts = [
        Chart("loss", [_curve(rows, "train_loss", "training"), _curve(rows, "validation_loss", "validation")]),
        *(Chart(_title(name), [_curve(rows, name, "validation")]) for name in measured),
        Chart("attention loss", [_curve(rows, "guided_loss", "training")]),
        Chart("learning rate", [_curve(rows, "learning_rate", "learning rate")]),
        Chart("target tokens per second so far", [_curve(rows, "tokens_per_second", "mean")]),
    ]
    shown = (chart._replace(curves=[curve for curve in chart.curves if curve.points]) for chart in charts)
    return [chart for chart in shown if chart.curves]


def measure_title(name: str) -> str:
    """The name of a measure of validation as people write it."""
    return _NAMES.get(name, name)


def _title(column: str) -> str:
    return measure_title(column.removeprefix(_MEASURED))


def _curve(rows: Sequence[Mapping[str, Any]], column: str, name: str) -> Curve:
    points = ((_number(row.get("step")), _number(row.get(column))) for row in rows)
    return Curve(name, sorted((x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)))


def _number(value: Any) -> float:
    """The number in a cell; NaN for a cell without one."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def format_number(value: float) -> str:
    """A value in at least four digits, as axes and hovering show it."""
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
