"""Learning curves of several runs: a table, the points as CSV, and a drawing of loss and BLEU."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.drawing import save_figure
from nmt.drawing.legends import add_legend
from nmt.errors import NmtError
from nmt.files.atomic_writing import write_atomically
from nmt.run.directory import Run
from nmt.run.history import history_numbers
from nmt.training.comparison.tables import in_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777")
"""One for each run, so their number is the largest number of runs."""
STYLES = ("o-", "s--", "^:", "D-.")


@dataclass(frozen=True)
class Point:
    """One validation of a run."""

    run: str
    precision: str
    step: int
    minutes: float
    """Time spent in training steps; validation is not included."""
    loss: float
    """Validation loss in nats per piece."""
    bleu: float
    """BLEU of greedy search on the validation pairs."""


def write_curves(runs: Mapping[str, Path], output: Path) -> str:
    """Writes table.md, points.csv and curves.png, and returns the table.

    Args:
        runs: run directories by the name that the table and the drawing show.
        output: directory to write into.

    Raises:
        NmtError: a directory is not a run, or the run has no validation yet.
    """
    curves = {name: read_curve(path, name) for name, path in runs.items()}
    text = format_table(curves)
    rows = StringIO()
    points = [point for curve in curves.values() for point in curve]
    csv.writer(rows).writerows([[field.name for field in fields(Point)], *map(astuple, points)])
    write_atomically(output / "table.md", f"{text}\n".encode())
    write_atomically(output / "points.csv", rows.getvalue().encode())
    save_figure(draw_curves(curves), output / "curves.png")
    return text


def read_curve(directory: Path, name: str) -> list[Point]:
    """The validations of a run, oldest first; the run may still be training.

    A row of history.csv from which another program has cut a value gives no point.
    """
    run = Run.open(directory)
    points = [
        Point(name, run.config.training.precision, int(row["step"]), seconds / 60, loss, bleu)
        for row in run.read_history()
        if (measured := history_numbers(row, "seconds", "validation_loss", "validation_bleu"))
        for seconds, loss, bleu in [measured]
    ]
    if not points:
        raise NmtError(f"{directory}: no validation in history.csv yet; wait for the first one")
    return points


def format_table(curves: Mapping[str, Sequence[Point]]) -> str:
    """Markdown, a row for each run: precision, length of training, lowest loss and best BLEU."""
    lines = [
        "| run | precision | updates | minutes in steps | lowest loss | of update | best BLEU, greedy |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, points in curves.items():
        last, lowest = points[-1], min(points, key=lambda point: point.loss)
        lines.append(
            f"| {in_table(name)} | {last.precision} | {last.step:,} | {last.minutes:.1f} | {lowest.loss:.4f} | "
            f"{lowest.step:,} | {max(point.bleu for point in points):.2f} |"
        )
    return "\n".join(lines)


def draw_curves(curves: Mapping[str, Sequence[Point]]) -> Figure:
    """Loss above, BLEU below; against updates on the left, against minutes on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.4), layout="constrained")
    grid = figure.subplots(2, 2, sharex="col", sharey="row")
    for row, (value, label) in enumerate((("loss", "validation loss, nats per piece"), ("bleu", "BLEU, greedy"))):
        for column, (across, below) in enumerate((("step", "updates"), ("minutes", "minutes in training steps"))):
            axes = grid[row][column]
            for number, points in enumerate(curves.values()):
                xs, ys = ([getattr(point, field) for point in points] for field in (across, value))
                style, colour = STYLES[number % len(STYLES)], COLOURS[number]
                axes.plot(xs, ys, style, ms=3, lw=1, color=colour, label=number)
            axes.grid(color="#dddddd", linewidth=0.5)
            axes.spines[["top", "right"]].set_visible(False)
            if row:
                axes.set_xlabel(below)
            if not column:
                axes.set_ylabel(label)
    add_legend(figure, grid[0][1], list(curves))
    return figure
