"""history.csv of a run: one row per validation."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from nmt.files.atomic_writing import write_atomically
from nmt.run.errors import RunError


def read_history(path: Path) -> list[dict[str, str]]:
    """Rows of history.csv; none if there is no file.

    Raises:
        RunError: another program has changed the file's format.
    """
    if not path.exists():
        return []
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        if all((row.get("step") or "").isdecimal() for row in rows):
            return rows
    except (UnicodeDecodeError, csv.Error):
        pass
    raise RunError(
        f"{path}: expected the format that training writes, columns with commas between them and one named step: "
        "restore the format, or delete the file; training then continues without its rows"
    )


def write_history(path: Path, rows: list[dict[str, Any]]) -> None:
    """Replaces history.csv by these rows."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())
