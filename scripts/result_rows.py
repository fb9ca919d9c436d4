"""Rows of campaigns as JSON lines, for docs/results.jsonl."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

HELP = "file for the counts of each campaign, as JSON lines"


@dataclass(frozen=True)
class Row:
    """The counts of a campaign.

    Attributes:
        campaign: its name on the command line.
        fault: the kind of faults.
        planned: points, inputs or mutants that the campaign has, up to its limit; None: as many as the time allows.
        tried, found: points, and those with a failure that nmt should not have.
        seconds: time of the campaign.
    """

    campaign: str
    fault: str
    planned: int | None
    tried: int
    found: int
    seconds: float

    def as_line(self) -> str:
        """A line of JSON with the number of survivors too."""
        fields = asdict(self) | {"survived": self.tried - self.found, "seconds": round(self.seconds, 1)}
        return json.dumps(fields) + "\n"


def write_rows(path: str | None, rows: Iterable[Row]) -> None:
    """Writes the rows; None: nothing is written."""
    if path:
        Path(path).write_text("".join(row.as_line() for row in rows), encoding="utf-8")


def read_rows(path: Path) -> list[Row]:
    """The rows of a file; none if there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Row(**{name: value for name, value in json.loads(line).items() if name != "survived"}) for line in lines]
