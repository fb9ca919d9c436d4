"""The script that measures tests by mutants."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mutants
import result_rows

ROOM = """LIMIT = 3


def allowed(number: int) -> bool:
    return number < LIMIT


def unused() -> int:
    return len('ab')
"""
TEST = """from nmt.room.limits import allowed


def test_two_is_allowed_and_four_is_not() -> None:
    assert allowed(2) and not allowed(4)


def test_three_is_not_allowed() -> None:
    assert not allowed(3){}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one room, and the script."""
    files = {"nmt/__init__.py": "", "nmt/room/__init__.py": "", "nmt/room/limits.py": ROOM, "setup.cfg": "",
             "pyproject.toml": ""}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("tests/room", "scripts", "data", "docs", "saved_models"):
        (tmp_path / name).mkdir(parents=True)
    for module in (mutants, result_rows):
        shutil.copy(module.__file__, tmp_path / "scripts")
    return tmp_path


def measured(repository: Path) -> str:
    command = [sys.executable, "scripts/mutants.py", "room", "--processes", "1", "--json", "counts"]
    result = subprocess.run(
        command, cwd=repository, capture_output=True, text=True, env={"PYTHONPATH": str(repository)}
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_mistake_that_no_test_notices_is_named(repository: Path) -> None:
    (repository / "tests/room/test_limits.py").write_text(TEST.format(""))
    shown = measured(repository)
    assert "room: 4 of 4 mutants\n" in shown
    assert "survives 2 tests: nmt/room/limits.py:9  return len('ab')  ->  return None\n" in shown
    # The limit is computed at import, so that no test seems to reach it: all tests run, and one notices the mistake.
    assert shown.count("survives") == 1 and shown.endswith("room: 3 of 4 mutants noticed, 75.0 %\n")
    (row,) = result_rows.read_rows(repository / "counts")
    assert (row.campaign, row.fault, row.planned, row.tried, row.found) == ("room", "mutants", 4, 4, 1)
    (repository / "tests/room/test_limits.py").write_text(TEST.format(" or True"))
    shown = measured(repository)
    assert "survives 2 tests: nmt/room/limits.py:5  number < LIMIT  ->  (number <= LIMIT)\n" in shown
    assert (repository / "nmt/room/limits.py").read_text() == ROOM


def test_mistakes_are_made_where_they_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = '''"""Text."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    pass
def f(a: int | None = None, *, b: bool = True) -> list[int]:
    """Of 2."""
    if a is None or not b:
        raise ValueError(f"{1 + 1}")
    for c in range(-1):
        if c: continue
        elif b: break
    return [a + 1] if a else []
'''
    path = tmp_path / "module.py"
    path.write_text(source)
    monkeypatch.setattr(mutants, "REPOSITORY", tmp_path)
    found = {(one.line, one.before, one.after) for one in mutants.mutants_of(path)}
    assert found == {
        (5, "True", "False"),
        (7, "a is None or not b", "(not (a is None or not b))"),
        (7, "a is None or not b", "(a is None and (not b))"),
        (7, "a is None", "(a is not None)"),
        (7, "not b", "(b)"),
        (9, "-1", "(1)"),
        (9, "1", "2"),
        (10, "c", "(not (c))"),
        (10, "continue", "break"),
        (11, "b", "(not (b))"),
        (11, "break", "continue"),
        (12, "return [a + 1] if a else []", "return None"),
        (12, "a", "(not (a))"),
        (12, "a + 1", "(a - 1)"),
        (12, "1", "2"),
    }
    for one in mutants.mutants_of(path):
        compile(one.of(path.read_bytes()), "mutant", "exec")
