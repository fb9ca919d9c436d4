"""Measures the tests of a room by mutants: copies of the code with one small mistake each, which a test should notice.

    python scripts/mutants.py search --count 50
    python scripts/mutants.py search batches alignment text run files --count 500 --minutes 120

The tests of the room run once, to learn which test reaches which line. Then each mutant runs the tests that reach its
line, the fastest ones first, until one fails. A line that seems unreached runs at import, in a process of its own or in
a thread of TensorFlow: its mutants run all tests of the room. The output names each mutant that survives, and ends with
the score of each room: the share of its mutants that a test noticed. A seed stands for its mutants.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import coverage
import pytest

from result_rows import HELP, Row, write_rows

REPOSITORY = Path(__file__).resolve().parents[1]
COPIED = ("nmt", "tests", "scripts", "setup.cfg", "pyproject.toml")
LINKED = ("data", "docs", "saved_models")
START_SECONDS, PATIENCE = 60, 5
"""A mutant may take PATIENCE times as long as its tests, and START_SECONDS for imports."""
MAP = "--map-to"
"""The flag of the process that learns which test reaches which line."""

SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
"""Operators, and the one that a mutant has in its place."""


@dataclass(frozen=True)
class Mutant:
    """One mistake."""

    path: str
    """Of the file, from the repository."""
    line: int
    span: tuple[int, int]
    """Bytes of the file that are replaced."""
    before: str
    after: str

    def of(self, source: bytes) -> bytes:
        """The file with the mistake."""
        return source[: self.span[0]] + self.after.encode() + source[self.span[1] :]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {_short(self.before)}  ->  {_short(self.after)}"


class Reached(NamedTuple):
    """The tests of a room."""

    lines: dict[str, dict[int, list[str]]]
    """Tests that reach each line of each file."""
    seconds: dict[str, float]
    """Time of each test that passes without a mutant."""

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that reach a mutant, or all where none seems to reach it; the fastest ones first."""
        reaching = self.lines.get(mutant.path, {}).get(mutant.line) or self.seconds
        return sorted(reaching, key=lambda name: self.seconds[name])


def main() -> int:
    arguments = parse()
    if arguments.map_to:
        return learn(arguments.rooms[0], arguments.map_to)
    end = time.monotonic() + 60 * arguments.minutes
    rows = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        desks: SimpleQueue[Path] = SimpleQueue()
        for number in range(arguments.processes):
            desks.put(copy_of_repository(Path(place) / str(number)))
        for room in arguments.rooms:
            chosen = random.Random(arguments.seed).sample(found := mutants(room), min(arguments.count, len(found)))
            print(f"{room}: {len(chosen)} of {len(found):,} mutants", flush=True)
            rows.append(measure(room, chosen, reached_lines(room, Path(place)), desks, end))
    print(*map(score, rows), sep="\n")
    write_rows(arguments.json, rows)
    return 0


def score(row: Row) -> str:
    """The line of a room: the share of its mutants that a test noticed."""
    noticed = row.tried - row.found
    share = f"{100 * noticed / row.tried:.1f} %" if row.tried else "no mutant was tried"
    return f"{row.campaign}: {noticed} of {row.tried} mutants noticed, {share}"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="+", metavar="ROOM", help="folders below nmt/ that have one in tests/ too")
    parser.add_argument("--count", type=int, default=500, metavar="N", help="mutants of each room (default: 500)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the mutants (default: 1)")
    parser.add_argument("--minutes", type=float, default=120, help="no mutant begins later (default: 120)")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), metavar="N", help="mutants at the same time")
    parser.add_argument("--json", metavar="FILE", help=HELP)
    parser.add_argument(MAP, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for room in arguments.rooms:
        if not all((REPOSITORY / top / room).is_dir() for top in ("nmt", "tests")):
            parser.error(f"no room {room}: expected a folder of nmt/ that has one in tests/ too")
    return arguments


def mutants(room: str) -> list[Mutant]:
    """All mutants of a room."""
    return [one for path in sorted((REPOSITORY / "nmt" / room).rglob("*.py")) for one in mutants_of(path)]


def mutants_of(path: Path) -> Iterator[Mutant]:
    """The mutants of a file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in nodes(ast.parse(source)):
        for place, after in mistakes(node):
            span = starts[place.lineno - 1] + place.col_offset, starts[place.end_lineno - 1] + place.end_col_offset
            before = source[slice(*span)].decode()
            yield Mutant(str(path.relative_to(REPOSITORY)), place.lineno, span, before, after)


def nodes(tree: ast.AST) -> Iterator[Any]:
    """The nodes that computations depend on: no annotations, decorators, docstrings, errors or f-strings."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not is_text and not isinstance(child, ast.Raise | ast.JoinedStr):
                yield child
                yield from nodes(child)


def mistakes(node: Any) -> Iterator[tuple[Any, str]]:
    """The mistakes at a node: a node to replace, and the text in its place."""
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in SWAPS:
            yield node, _text(ast.Compare(left, [SWAPS[type(operator)]()], [right]))
        case ast.BinOp(left, operator, right) if type(operator) in SWAPS and not _is_text(left, right):
            yield node, _text(ast.BinOp(left, SWAPS[type(operator)](), right))
        case ast.BoolOp(operator, values):
            yield node, _text(ast.BoolOp(SWAPS[type(operator)](), values))
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield node, _text(operand)
        case ast.Constant(bool(value)):
            yield node, str(not value)
        case ast.Constant(int(value)):
            yield node, str(value + 1)
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            yield node, "return None"
        case ast.Continue():
            yield node, "break"
        case ast.Break():
            yield node, "continue"
        case ast.Expr(ast.Call()):
            yield node, "None"
        case ast.If(test) | ast.While(test) | ast.IfExp(test) if ast.unparse(test) != "TYPE_CHECKING":
            yield test, f"(not ({ast.unparse(test)}))"


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def _is_text(*values: ast.expr) -> bool:
    return any(isinstance(value, ast.JoinedStr) or isinstance(getattr(value, "value", None), str) for value in values)


def _short(text: str) -> str:
    first, _, rest = text.partition("\n")
    return first if not rest and len(first) < 100 else f"{first[:100]} ..."


def copy_of_repository(directory: Path) -> Path:
    """A copy of the code and tests, in which a mutant takes the place of a file."""
    directory.mkdir()
    for name in COPIED:
        original = REPOSITORY / name
        if original.is_dir():
            shutil.copytree(original, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(original, directory)
    for name in LINKED:
        (directory / name).symlink_to(REPOSITORY / name)
    return directory


class Contexts:
    """A plugin of pytest that tells coverage which test runs, and measures its time."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._measured.switch_context(item.nodeid)
        begun = time.perf_counter()
        result = yield
        self.seconds[item.nodeid] = time.perf_counter() - begun
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def learn(room: str, output: Path) -> int:
    """Runs the tests of a room in this process, and writes the lines that each of them reaches."""
    measured = coverage.Coverage(data_file=None, source=[str(REPOSITORY / "nmt" / room)], config_file=False)
    contexts = Contexts(measured)
    measured.start()
    pytest.main(["-q", "-p", "no:cacheprovider", str(REPOSITORY / "tests" / room)], plugins=[contexts])
    measured.stop()
    data = measured.get_data()
    seconds = {test: taken for test, taken in contexts.seconds.items() if test not in contexts.failed}
    lines = {
        str(Path(path).relative_to(REPOSITORY)): {
            line: [test for test in tests if test in seconds] for line, tests in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
    }
    output.write_text(json.dumps({"lines": lines, "seconds": seconds, "failed": contexts.failed}))
    return 0


def reached_lines(room: str, place: Path) -> Reached:
    """The lines that the tests of a room reach, learned in a process of its own."""
    output = place / f"{room}.json"
    subprocess.run([sys.executable, __file__, room, MAP, str(output)], cwd=REPOSITORY, stdout=sys.stderr, check=True)
    found = json.loads(output.read_text())
    for name in found["failed"]:
        print(f"left out, because it fails without a mutant: {name}", flush=True)
    lines = {path: {int(line): tests for line, tests in each.items()} for path, each in found["lines"].items()}
    return Reached(lines, found["seconds"])


def measure(room: str, chosen: list[Mutant], reached: Reached, desks: SimpleQueue[Path], end: float) -> Row:
    """Runs the mutants of a room, prints the survivors, and returns its counts: a mutant that is found survives."""

    def survives(mutant: Mutant) -> bool | None:
        if time.monotonic() > end:
            return None
        desk = desks.get()
        try:
            return survives_tests(mutant, reached, desk)
        finally:
            desks.put(desk)

    tried, noticed, start = 0, 0, time.monotonic()
    with ThreadPoolExecutor(desks.qsize()) as threads:
        for mutant, alive in zip(chosen, threads.map(survives, chosen), strict=True):
            if alive is not None:
                tried, noticed = tried + 1, noticed + (not alive)
            if alive:
                print(f"survives {len(reached.tests(mutant))} tests: {mutant}", flush=True)
    return Row(room, "mutants", len(chosen), tried, tried - noticed, time.monotonic() - start)


def survives_tests(mutant: Mutant, reached: Reached, desk: Path) -> bool:
    """Whether none of its tests fails with a mutant."""
    tests = reached.tests(mutant)
    if not tests:
        return True
    path = desk / mutant.path
    path.write_bytes(mutant.of((REPOSITORY / mutant.path).read_bytes()))
    names = desk / "tests-of-mutant"
    names.write_text("".join(f"{name}\n" for name in tests))
    limit = START_SECONDS + PATIENCE * sum(reached.seconds[name] for name in tests)
    environment = os.environ | {"PYTHONPATH": str(desk), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"@{names}"]
    process = subprocess.Popen(
        command, cwd=desk, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        return process.wait(limit) == 0
    except subprocess.TimeoutExpired:  # a loop that does not end
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.wait()
        shutil.copy2(REPOSITORY / mutant.path, path)


if __name__ == "__main__":
    sys.exit(main())
