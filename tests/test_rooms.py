"""The table of rooms in CONTRIBUTING.md names every module, in an order in which imports run downward only."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "nmt"


def room(path: Path) -> str:
    """The module or package right below `nmt` that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def rows() -> list[list[str]]:
    """The rooms of each row of the table, from the top down."""
    table = re.findall(r"^\| (`.+?`) \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    return [[name.rstrip("/").removesuffix(".py") for name in re.findall(r"`([^`]+)`", row)] for row in table]


def imported(path: Path) -> Iterator[str]:
    """The rooms that a file imports from, also within its functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "nmt":
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nmt."):
            yield str(node.module).split(".")[1]


def test_every_room_has_its_place():
    named = [name for row in rows() for name in row]
    there = {room(path) for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert sorted(named) == sorted(there - {"__init__", "__main__", "__pycache__"})


def test_imports_run_downward_only():
    place = {name: number for number, row in enumerate(rows()) for name in row}
    upward = {
        f"{room(path)} imports {other}"
        for path in PACKAGE.rglob("*.py")
        if room(path) in place
        for other in imported(path)
        if place[other] < place[room(path)]
    }
    assert not upward
