"""A crash of one test ends neither the run nor the other tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

CRASHING = """
import os, pathlib, pytest

@pytest.mark.parametrize("number", range({tests}))
def test_some(number):
    crashes = pathlib.Path("crashes")
    times = len(crashes.read_text()) if crashes.exists() else 0
    if number == {tests} - 1 and times < {crashes}:
        crashes.write_text("x" * (times + 1))
        os._exit(1)
"""


def run(directory: Path, file: int, tests: int, crashes: int) -> tuple[int, str]:
    """The exit code and the last line of a run of 6 files, one of which crashes some times; it ends within a minute."""
    for number in range(6):
        text = CRASHING.format(tests=tests, crashes=crashes if number == file else 0)
        (directory / f"test_{number}.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "crashed_processes"]
    command += [
        "--numprocesses",
        "2",
        "--dist",
        "loadfile",
        "--no-loadscope-reorder",
        "--rootdir",
        ".",
        "-c",
        os.devnull,
        ".",
    ]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    result = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=60)
    return result.returncode, result.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("tests", [1, 3])
@pytest.mark.parametrize("file", [0, 2, 5])
def test_a_test_that_crashed_once_is_repeated(tmp_path, file, tests):
    code, summary = run(tmp_path, file, tests, crashes=1)
    assert code == 0, summary
    assert re.match(rf"{6 * tests} passed, 1 repeated after a crash in", summary), summary


@pytest.mark.parametrize("tests", [1, 3])
def test_a_second_crash_is_a_failure(tmp_path, tests):
    """The other tests run all the same."""
    code, summary = run(tmp_path, 2, tests, crashes=2)
    assert code == 1, summary
    assert re.match(rf"1 failed, {6 * tests - 1} passed, 1 repeated after a crash in", summary), summary
