"""A run as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nmt import notebook
from nmt.run.errors import RunError

if TYPE_CHECKING:
    from nmt.run.directory import Run

SHOWN_ROWS = 10
"""Rows of the history that are shown."""


def run_html(run: Run) -> str:
    """What the run is, and the newest rows of its history."""
    try:
        rows = run.read_history()
    except RunError as error:
        rows = [{"history": str(error)}]
    config = run.config
    known = {
        "run": run.directory,
        "languages": " → ".join(map(str, run.languages)),
        "network": f"{config.model.architecture}, {config.model.units} units",
        "pieces": f"{run.source.size} source, {run.target.size} target",
        "epochs": config.training.passes,
    }
    return notebook.facts(known) + notebook.table(rows[-SHOWN_ROWS:])
