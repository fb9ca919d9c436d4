"""What a search found: a table of all trials, a drawing of each field's values, and the best as a configuration."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import matplotlib as mpl
import numpy as np
import optuna
import yaml
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from hyperparameters.space import Space
from nmt.drawing import save_figure
from nmt.files.atomic_writing import write_atomically


def write_report(study: optuna.Study, space: Space, output: Path, name: str) -> list[Path]:
    """Writes trials.csv, trials.png and best.yaml; the last has no `directory` of its own.

    Args:
        name: of the run that best.yaml trains.
    """
    rows = [
        {"trial": t.number, "state": t.state.name.lower(), space.metric: t.value, "validations": t.last_step or 0}
        | t.params
        | {"run": t.user_attrs.get("run", "")}
        for t in study.trials
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)))
    writer.writeheader()
    writer.writerows(rows)
    places = [output / "trials.csv", output / "trials.png", output / "best.yaml"]
    write_atomically(places[0], text.getvalue().encode())
    _draw(study, space, places[1])
    best = space.fields(study.best_params, name, "saved_models")
    write_atomically(places[2], yaml.safe_dump(best, sort_keys=False, allow_unicode=True).encode())
    return places


def _draw(study: optuna.Study, space: Space, path: Path) -> None:
    """A point for each trial that came to its end, over each field's values; the later, the darker."""
    done = [trial for trial in study.trials if trial.state == optuna.trial.TrialState.COMPLETE]
    names = list(space.ranges)
    columns = min(len(names), 4)
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(3.2 * columns, 2.8 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    colours = mpl.colormaps["Blues"](np.linspace(0.35, 1, max(len(done), 1)))
    for axis, name in zip(axes, names, strict=False):
        given = space.ranges[name]
        values = [trial.params[name] for trial in done]
        if "choices" in given:
            places = [given["choices"].index(value) for value in values]
            axis.set_xticks(range(len(given["choices"])), [str(choice) for choice in given["choices"]])
        else:
            places = values
            if given.get("log"):
                axis.set_xscale("log")
                axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
                axis.xaxis.set_minor_formatter(NullFormatter())
        axis.scatter(places, [trial.value for trial in done], c=colours[: len(done)], s=22, edgecolors="none")
        axis.set_xlabel(name)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    for axis in axes[::columns]:
        axis.set_ylabel(f"best validation {space.metric.upper() if space.metric == 'bleu' else space.metric}")
    figure.suptitle("trials that came to their end; the darker, the later", fontsize=10)
    save_figure(figure, path)
