"""history.csv of a run: one row per validation."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.files.atomic_writing import write_atomically
from nmt.run.errors import RunError

_LONGEST_STEP = 18
"""Digits of the largest step that is read."""


def read_history(path: Path) -> list[dict[str, str]]:
    """Rows of history.csv; none if there is no file. A cell that a row lacks is empty.

    Raises:
        RunError: the file cannot be read, or another program has changed its format.
    """
    if not path.exists():
        return []
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, restval=""))
        if all(_has_step(row) and None not in row for row in rows):  # None has the cells beyond the header's
            return rows
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        pass
    raise RunError(
        f"{path}: expected the format that training writes, columns with commas between them and one named step: "
        "restore the format, or delete the file; training then continues without its rows"
    )


def _has_step(row: dict[str, str]) -> bool:
    step = row.get("step", "")
    return step.isdecimal() and len(step) <= _LONGEST_STEP


def history_numbers(row: Mapping[str, str], *columns: str) -> list[float] | None:
    """The values of these columns in a row; None if one is missing or is no number, as after a change by hand."""
    try:
        return [float(row[column]) for column in columns]
    except (KeyError, ValueError):
        return None


def validation_quality(metric: str, value: float, loss: float) -> tuple[float, float]:
    """The rank of a validation by `training.metric`: a greater one is better.

    Where BLEU or chrF is equal to the hundredth, the loss decides: BLEU stays near 0 until the model has learned
    phrases.
    """
    return (-loss, 0.0) if metric == "loss" else (round(value, 2), -loss)


def write_history(path: Path, rows: list[dict[str, Any]]) -> None:
    """Replaces history.csv by these rows, with the columns of all of them."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), restval="")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())


def move_history_aside(path: Path) -> Path:
    """Renames history.csv to the first free name of history.1.csv, history.2.csv and so on; returns the new path."""
    numbered = (path.with_name(f"{path.stem}.{number}{path.suffix}") for number in itertools.count(1))
    return path.rename(next(other for other in numbered if not other.exists()))
