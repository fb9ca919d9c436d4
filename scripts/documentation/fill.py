"""Fills the measured numbers of the documentation from docs/results.jsonl.

    python scripts/documentation/fill.py            # writes the numbers and tables into README.md and docs/
    python scripts/documentation/fill.py --check    # changes nothing; exit code 1 if a page differs from its source
    python scripts/documentation/fill.py --accept   # takes over the configurations that the cited commands have now

In a page a number, a table or a table's commands stand between two comments, and this script writes what is between:

    <!-- result: ID FIELD -->41.4<!-- / -->      one number; several ids with commas between: mean (least to largest)
    <!-- table: NAME -->                          a table of docs/evidence/tables.yaml
    <!-- / -->
    <!-- commands: NAME -->                       the commands that repeat the rows of a table, folded
    <!-- / -->
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.running import run_script
from documentation import results
from documentation.results import ROOT, ResultsError

TABLES = "docs/evidence/tables.yaml"
NUMBER = re.compile(r"<!-- result: (?P<ids>\S+) (?P<field>\S+) -->.*?<!-- / -->")
BLOCK = re.compile(r"<!-- (?P<kind>table|commands): (?P<name>\S+) -->\n.*?<!-- / -->", re.DOTALL)
DIGITS = {"bleu": ".1f", "chrf": ".1f", "per_second": ",.0f", "parameters": ",.0f"}
DIGITS |= {"times_peer": ".1f", "_seconds": ".1f", "measured_to_model": ".2f"}
DIGITS |= dict.fromkeys(["aer", "loss", "link_precision", "link_recall", "accuracy", "correlation"], ".3f")
"""How values are written, by a part of the name of their field; other values keep the digits that they have."""


def pages(root: Path = ROOT) -> Iterator[Path]:
    """README.md and the pages of docs/."""
    yield root / "README.md"
    yield from sorted((root / "docs").rglob("*.md"))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing and fail if a page differs")
    parser.add_argument("--accept", action="store_true", help="take over the configurations of the cited commands")
    arguments = parser.parse_args()
    rows = results.read()
    if arguments.accept:
        for row in rows.values():
            row["configuration"] = results.configuration_hash(row["command"])
        results.write(rows.values())
    tables = yaml.safe_load((ROOT / TABLES).read_text(encoding="utf-8"))
    stale = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        filled = fill(text, rows, tables)
        if filled != text:
            stale.append(str(page.relative_to(ROOT)))
            if not arguments.check:
                page.write_text(filled, encoding="utf-8")
    if stale:
        print(f"{'differ from their source' if arguments.check else 'filled'}: {', '.join(stale)}")
    return int(arguments.check and bool(stale))


def fill(text: str, rows: dict[str, Any], tables: dict[str, Any]) -> str:
    """A page with its numbers and tables from their source.

    Raises:
        ResultsError: a citation of a row, a field or a table that is not there.
    """

    def number(found: re.Match[str]) -> str:
        value = cell(rows, found["ids"].split(","), found["field"], ranges=False)
        return f"<!-- result: {found['ids']} {found['field']} -->{value}<!-- / -->"

    def block(found: re.Match[str]) -> str:
        if found["name"] not in tables:
            raise ResultsError(f"{TABLES}: no table {found['name']}")
        make = table if found["kind"] == "table" else commands
        return f"<!-- {found['kind']}: {found['name']} -->\n\n{make(rows, tables[found['name']])}\n\n<!-- / -->"

    return NUMBER.sub(number, BLOCK.sub(block, text))


def table(rows: dict[str, Any], layout: dict[str, Any]) -> str:
    """A Markdown table, and a line with the machines and dates of its rows.

    Args:
        rows: the measurements.
        layout: `first`, the header of the first column; `columns`, a field for each further header; `rows`, the ids for
            each label (several ids: their mean), or for each label a mapping of headers to "ID FIELD".
    """
    columns = layout["columns"]
    lines = [[layout["first"], *columns], ["---", *["---:"] * len(columns)]]
    for label, cited in layout["rows"].items():
        cells = []
        for header, field in columns.items():
            if isinstance(cited, dict):
                *ids, field = cited.get(header, "").split() or [""]
            else:
                ids = cited.split()
            cells.append(cell(rows, ids, field) if ids else "")
        lines.append([label, *cells])
    drawn = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"{drawn}\n\n{circumstances(rows, ids_of(layout))}"


def circumstances(rows: dict[str, Any], ids: list[str]) -> str:
    """The machines and the dates of rows, in a line."""
    machines: dict[str, set[str]] = {}
    for row in (find(rows, name) for name in ids):
        machines.setdefault(row["machine"] or "", set()).add(row["date"] or "")
    unknown = machines.pop("", set())
    parts = [f"{machine}, {spoken(machines[machine])}" for machine in sorted(machines)]
    if unknown - {""}:
        parts.append(f"{'other machines' if parts else 'two cores'}, {spoken(unknown)}")
    return f"*Measured: {'; '.join(parts)}.*"


def spoken(days: set[str]) -> str:
    """The first and the last date: 21 to 24 November 2026."""
    first, *rest = [date.fromisoformat(day) for day in sorted(days - {""})]
    last = rest[-1] if rest else first
    begin = f"{first.day}" if (first.year, first.month) == (last.year, last.month) else f"{first.day} {first:%B %Y}"
    return f"{last.day} {last:%B %Y}" if first == last else f"{begin} to {last.day} {last:%B %Y}"


def commands(rows: dict[str, Any], layout: dict[str, Any]) -> str:
    """The commands behind the rows of a table, each once, in a part of the page that opens on a click."""
    lines = [line for name in ids_of(layout) for line in results.command_lines(find(rows, name)["command"])]
    head = "<details><summary>Commands that repeat this table</summary>"
    return "\n".join([head, "", "```text", *dict.fromkeys(lines), "```", "", "</details>"])


def ids_of(layout: dict[str, Any]) -> list[str]:
    """The ids that a table cites, each once."""
    cited = []
    for row in layout["rows"].values():
        cited += [part.rpartition(" ")[0] for part in row.values()] if isinstance(row, dict) else [row]
    return list(dict.fromkeys(" ".join(cited).split()))


def cell(rows: dict[str, Any], ids: list[str], field: str, ranges: bool = True) -> str:
    """The value of a field: with its range, or the mean and the range of several values."""
    values: list[Any] = []
    for name in ids:
        metrics = find(rows, name)["metrics"]
        if field not in metrics:
            if len(ids) == 1 and ranges:
                return ""
            raise ResultsError(f"{name} has no {field}; it has {', '.join(metrics)}")
        value = metrics[field]
        values += value if isinstance(value, list) else [value]
    if isinstance(values[0], str):
        return str(values[0])
    text = written(field, sum(values) / len(values) if len(values) > 1 else values[0])
    between = [min(values), max(values)] if len(values) > 1 else find(rows, ids[0])["metrics"].get(f"{field}_range")
    if ranges and between and between[0] != between[1]:
        text += f" ({written(field, between[0])} to {written(field, between[1])})"
    return text


def find(rows: dict[str, Any], name: str) -> dict[str, Any]:
    """The row of an id."""
    if name not in rows:
        raise ResultsError(f"docs/results.jsonl has no row {name}")
    return rows[name]


def written(field: str, value: float) -> str:
    """A value with the digits of its field."""
    for part, digits in DIGITS.items():
        if part in field:
            return format(value, digits)
    if field == "minutes":
        value = round(value + 1e-9, 0 if value >= 10 else 1)
    return format(int(value) if value == int(value) else round(value, 3), ",")


if __name__ == "__main__":
    sys.exit(run_script(main))
