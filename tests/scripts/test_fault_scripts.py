"""The scripts that conduct campaigns of faults and that fuzz: their counts, exit codes, and what they leave behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from campaigns import Campaign, Outcome, Point

import faults
import fuzz


@pytest.fixture
def conducted(monkeypatch, tmp_path):
    """Runs `faults.py` over a campaign of two points, the second of which fails; returns the exit code."""

    def points(workshop, draw):
        yield Point("one", lambda place: None)
        yield Point("two", lambda place: place.rmdir() or place.stat())

    def run(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["faults.py", *words])
        return faults.main()

    monkeypatch.setattr(faults, "CAMPAIGNS", [Campaign("pairs", "pairs of points", points, 10)])
    monkeypatch.setattr(faults, "_fuzz", lambda seconds, seed: pytest.fail("nobody asked for fuzzing"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return run


def test_a_campaign_ends_with_a_table_and_the_command_that_repeats_a_failure(conducted, capsys):
    assert conducted("pairs", "--seed", "7") == 1
    shown = capsys.readouterr().out
    assert "pairs: 2 of 2 points, 1 found" in shown
    last = shown.splitlines()[-1]
    assert last.startswith("pairs: FileNotFoundError")
    assert last.endswith("python scripts/faults.py pairs --seed 7 --point two")
    assert shown.splitlines()[-3].split() == ["pairs", "of", "points", "2", "2", "1", "1", "0"]


def test_the_counts_are_written_as_json_lines(conducted, tmp_path):
    conducted("pairs", "--points", "1", "--json", str(tmp_path / "counts"))
    (line,) = (tmp_path / "counts").read_text().splitlines()
    expected = {"campaign": "pairs", "fault": "pairs of points", "planned": 1, "tried": 1, "survived": 1, "found": 0}
    assert json.loads(line) == expected | {"seconds": 0.0}


def test_a_campaign_has_its_share_of_the_time(conducted, monkeypatch):
    """Weights 1, 3 and 4 of 8 minutes; the second leaves its time to the third."""
    clock, given = 0.0, {}

    def conduct(campaign, workshop, seed, seconds, most, only):
        nonlocal clock
        given[campaign.name] = seconds
        clock += seconds if campaign.name == "a" else 0
        return Outcome(campaign)

    campaigns = [
        Campaign(name, name, lambda *_: iter(()), 1, weight) for name, weight in (("a", 1), ("b", 3), ("c", 4))
    ]
    monkeypatch.setattr(faults, "CAMPAIGNS", campaigns)
    monkeypatch.setattr(faults, "conduct", conduct)
    monkeypatch.setattr(faults, "time", SimpleNamespace(monotonic=lambda: clock))
    assert conducted("a", "b", "c", "--minutes", "8") == 0
    assert given == {"a": 60, "b": 180, "c": 420}


def test_a_point_is_repeated_alone_and_an_unknown_one_is_refused(conducted, capsys):
    assert conducted("--point", "one") == 0
    assert "pairs: 1 of 1 points, 0 found" in capsys.readouterr().out
    assert conducted("--point", "three") == 2
    assert capsys.readouterr().err == "faults.py: error: no point 'three' in pairs\n"


def test_all_campaigns_begin_only_where_the_fuzzer_is_installed(conducted, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert conducted() == 2
    said = capsys.readouterr()
    assert (
        said.out == ""
        and said.err == "faults.py: error: fuzzing needs atheris: run .venv/bin/pip install -e '.[fuzz]'\n"
    )


def test_a_fuzzed_target_leaves_only_its_failures_behind(monkeypatch, tmp_path, capsys):
    """The process of the fuzzer ends without clearing up, so its files are the script's to delete."""
    (tmp_path / "memory").mkdir()

    def ended(command, env, **_):
        place = Path(command[command.index("--child") + 1])
        assert (place / "work").is_dir() and Path(env["TMPDIR"]) == place and place.parent == tmp_path / "memory"
        (place / "inputs").write_text("3")
        (place / "failure-1.json").write_text(json.dumps({"kind": "ValueError", "content": b"bad".hex()}))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(fuzz, "IN_MEMORY", tmp_path / "memory")
    monkeypatch.setattr(subprocess, "run", ended)
    outcome = fuzz._fuzz("po", 1, 1, tmp_path / "found")
    assert (outcome.inputs, len(outcome.found)) == (3, 1) and "3 inputs, 1 failures" in capsys.readouterr().out
    assert os.listdir(tmp_path / "memory") == []
    assert [path.read_bytes() for path in (tmp_path / "found" / "po").iterdir()] == [b"bad"]


def test_a_slow_input_is_made_smaller_until_half_of_its_time_is_over(monkeypatch):
    """The fuzzer takes an input that runs for `SLOW` seconds for one that never ends."""
    assert fuzz._shrunk(b"xx(yy" * 9, lambda content: b"(" in content) == b"("
    seconds = 0.0

    def fails(content: bytes) -> bool:
        nonlocal seconds
        seconds += 1
        return b"(" in content

    monkeypatch.setattr(fuzz, "time", SimpleNamespace(monotonic=lambda: seconds))
    assert b"(" in fuzz._shrunk(b"x" * 500 + b"(" + b"y" * 4000, fails)
    assert seconds <= fuzz.SLOW / 2
