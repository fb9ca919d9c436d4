"""The report of a sweep: a table of all trials, a drawing of each field's values, and the best configuration."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import optuna
import yaml
from optuna.trial import FrozenTrial, TrialState

from nmt.drawing import save_figure
from nmt.files.atomic_writing import write_atomically
from nmt.training.sweep.space import Range, Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 4
"""Panels side by side."""


def write_report(study: optuna.Study, space: Space, output: Path, name: str) -> tuple[Path, Path, Path]:
    """Writes trials.csv, trials.png and best.yaml, and returns their paths.

    Args:
        study: has at least one completed trial.
        space: the fields that vary.
        output: directory of the sweep.
        name: the run that best.yaml trains; it goes into saved_models.
    """
    table, drawing, config = output / "trials.csv", output / "trials.png", output / "best.yaml"
    write_atomically(table, _table(study, space.metric).encode())
    _draw(study, space, drawing)
    best = space.fields(study.best_params, name, "saved_models")
    write_atomically(config, yaml.safe_dump(best, sort_keys=False, allow_unicode=True).encode())
    return table, drawing, config


def _table(study: optuna.Study, metric: str) -> str:
    """CSV, a row for each trial."""
    rows = [
        {"trial": trial.number, "state": trial.state.name.lower(), metric: trial.value}
        | {"validations": trial.last_step or 0}
        | trial.params
        | {"run": trial.user_attrs.get("run", "")}
        for trial in study.trials
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _draw(study: optuna.Study, space: Space, path: Path) -> None:
    """A panel for each field, a point for each completed trial; later trials are darker."""
    from matplotlib.figure import Figure

    completed = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    columns = min(len(space.ranges), COLUMNS)
    rows = -(-len(space.ranges) // columns)
    figure = Figure(figsize=(3.2 * columns, 2.8 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    for axes, (name, given) in zip(panels, space.ranges.items(), strict=False):
        _draw_panel(axes, completed, name, given)
    for axes in panels[len(space.ranges) :]:
        axes.set_visible(False)
    for axes in panels[::columns]:
        axes.set_ylabel(f"best validation {'BLEU' if space.metric == 'bleu' else space.metric}")
    figure.suptitle("completed trials; later trials are darker", fontsize=10)
    save_figure(figure, path)


def _draw_panel(axes: Axes, completed: Sequence[FrozenTrial], name: str, given: Range) -> None:
    import matplotlib as mpl
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    positions = [trial.params[name] for trial in completed]
    if "choices" in given:
        positions = [given["choices"].index(value) for value in positions]
        axes.set_xticks(range(len(given["choices"])), [str(choice) for choice in given["choices"]])
    elif given.get("log"):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    colours = mpl.colormaps["Blues"](np.linspace(0.35, 1, max(len(completed), 1)))[: len(completed)]
    axes.scatter(positions, [trial.values[0] for trial in completed], c=colours, s=22, edgecolors="none")
    axes.set_xlabel(name)
    axes.spines[["top", "right"]].set_visible(False)
