"""The measurements of exports: sizes, the table, and the script on a tiny run."""

from __future__ import annotations

import json

import commands
import pytest

from benchmarks.measure_exports import COLUMNS, size_of, table


def test_the_size_of_a_run_is_of_the_files_that_translate(tmp_path):
    for name, size in {"best.npz": 5, "shared.model": 3, "config.json": 2, "history.csv": 100}.items():
        (tmp_path / name).write_bytes(b"x" * size)
    assert size_of(tmp_path) == 10
    (tmp_path / "best.npz").unlink()
    assert size_of(tmp_path) == 105  # all files of an export


def test_the_table_has_a_row_for_each_system_and_a_dash_for_no_number():
    numbers = dict.fromkeys(COLUMNS, 1.0) | {"aer": None}
    lines = table([{"name": "run"} | numbers, {"name": "int8"} | numbers]).splitlines()
    assert len(lines) == 4 and {line.count("|") for line in lines} == {len(COLUMNS) + 2}
    assert lines[3].startswith("| int8 | 1.00 |") and "| 1.00 | - | 1 |" in lines[3]


@pytest.mark.slow
def test_the_script_measures_a_run_and_its_exports(make_run, tmp_path):
    make_run(tmp_path / "run")
    (tmp_path / "source").write_text("ba be\nki\n")
    (tmp_path / "gold").write_text("0-0\n0-0\n")
    files = "--source source --reference source --gold gold --limit 2 --alone 1 --repeats 1 --output out"
    printed = commands.script("benchmarks/measure_exports", f"--model run {files}", tmp_path).stdout
    rows = json.loads((tmp_path / "out" / "exports.json").read_text())
    assert [row["name"] for row in rows] == ["run, float32", "float32", "float16", "int8"]
    assert rows[1]["equal"] == 2 and rows[1]["aer"] == rows[0]["aer"]
    assert all(row["name"] in printed for row in rows)
