"""Learning curves of several runs, one over the other: validation loss and BLEU, against updates and against time.

    python scripts/learning_curves.py --runs saved_models/float32 saved_models/bfloat16

Reads each run's history.csv, a row a validation, also while it is being trained. Prints a table with the best of each
run, and writes it, the points and the drawing (table.md, points.csv, curves.png) into --output.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from common.running import ended
from nmt.errors import NmtError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777")
STYLES = ("o-", "s--", "^:", "D-.")


@dataclass(frozen=True)
class Point:
    """A validation of a run."""

    run: str
    precision: str
    step: int
    minutes: float
    """In training steps; what validating took is not in it."""
    loss: float
    """Nats a piece."""
    bleu: float
    """Greedy."""


def main() -> None:
    """Draws the curves, prints a table, and writes both and the points."""
    arguments = parse()
    curves = {name: read(path, name) for name, path in arguments.named.items()}
    text = table(curves)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "table.md").write_text(text + "\n", encoding="utf-8")
    with open(arguments.output / "points.csv", "w", encoding="utf-8", newline="") as file:
        points = [point for curve in curves.values() for point in curve]
        csv.writer(file).writerows([[field.name for field in fields(Point)], *map(astuple, points)])
    from nmt import save_figure

    save_figure(draw(curves), arguments.output / "curves.png")
    print(text)
    print(f"results: {arguments.output}/table.md, points.csv, curves.png", file=sys.stderr)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", nargs="+", type=Path, required=True, help="run directories written by nmt train")
    parser.add_argument("--names", nargs="+", help="what they are called (default: as their directories)")
    parser.add_argument("--output", type=Path, default=Path("saved_models/learning-curves"))
    arguments = parser.parse_args()
    names = arguments.names or [path.name for path in arguments.runs]
    if len(set(names)) != len(names) or len(names) != len(arguments.runs):
        parser.error("--names: expected a name for each run, all of them different")
    if len(names) > len(COLOURS):
        parser.error(f"--runs takes {len(COLOURS)} at most: more curves cannot be told apart")
    arguments.named = dict(zip(names, arguments.runs, strict=True))
    return arguments


def read(directory: Path, name: str) -> list[Point]:
    """The validations of a run, oldest first."""
    from nmt.run.directory import Run

    run = Run.open(directory)
    points = [
        Point(
            name,
            run.config.training.precision,
            int(row["step"]),
            float(row["seconds"]) / 60,
            float(row["validation_loss"]),
            float(row["validation_bleu"]),
        )
        for row in run.read_history()
    ]
    if not points:
        raise NmtError(f"{directory}: no validation in history.csv yet; wait for the first one")
    return points


def table(curves: dict[str, list[Point]]) -> str:
    """Markdown: of each run what it was trained with, how far, and its best."""
    lines = [
        "| run | precision | updates | minutes in steps | lowest loss | of update | best BLEU, greedy |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, points in curves.items():
        last, lowest = points[-1], min(points, key=lambda point: point.loss)
        lines.append(
            f"| {name} | {last.precision} | {last.step:,} | {last.minutes:.1f} | {lowest.loss:.4f} | "
            f"{lowest.step:,} | {max(point.bleu for point in points):.2f} |"
        )
    return "\n".join(lines)


def draw(curves: dict[str, list[Point]]) -> Figure:
    """Loss above, BLEU below; against updates on the left, against minutes on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.4), layout="constrained")
    grid = figure.subplots(2, 2, sharex="col", sharey="row")
    for row, (value, label) in enumerate((("loss", "validation loss, nats a piece"), ("bleu", "BLEU, greedy"))):
        for column, (across, below) in enumerate((("step", "updates"), ("minutes", "minutes in training steps"))):
            axes = grid[row][column]
            for number, (name, points) in enumerate(curves.items()):
                xs, ys = ([getattr(point, field) for point in points] for field in (across, value))
                style, colour = STYLES[number % len(STYLES)], COLOURS[number]
                axes.plot(xs, ys, style, ms=3, lw=1, color=colour, label=name)
            axes.grid(color="#dddddd", linewidth=0.5)
            axes.spines[["top", "right"]].set_visible(False)
            if row:
                axes.set_xlabel(below)
            if not column:
                axes.set_ylabel(label)
    grid[0][1].legend(frameon=False, fontsize=8)
    return figure


if __name__ == "__main__":
    sys.exit(ended(main))
