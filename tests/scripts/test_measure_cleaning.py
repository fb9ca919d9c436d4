"""The script that plants bad pairs and measures how many of them cleaning finds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.measure_cleaning import KINDS, OTHER, damage, table
from nmt.errors import NmtError

REPOSITORY = Path(__file__).parents[2]
PAIRS = [tuple(" ".join(f"{side}{n}{letter}" for letter in "abcdefgh") for side in "st") for n in range(80)]
THIRD = [source.replace("s", "o") for source, _ in PAIRS]


def test_each_kind_damages_pairs_as_its_name_says():
    damaged, kinds = damage(PAIRS, 0.3, 1, THIRD)
    assert Counter(kinds.values()) == dict.fromkeys([*KINDS, OTHER], 3)
    assert damage(PAIRS, 0.3, 1, THIRD) == (damaged, kinds) != damage(PAIRS, 0.3, 2, THIRD)
    for i, ((source, target), (_, following)) in enumerate(zip(PAIRS, PAIRS[1:] + PAIRS[:1], strict=True)):
        words = damaged[i][1].split()
        match kinds.get(i):
            case None:
                assert damaged[i] == (source, target)
            case "exchanged":
                assert damaged[i] == (target, source)
            case "dropped" | "repeated" as kind:
                assert damaged[i][0] == source and set(words) <= set(target.split())
                assert len(words) in ((4, 5, 6) if kind == "dropped" else (10, 11, 12))
            case kind:
                expected = {
                    "shifted": following,
                    "merged": f"{target} {following}",
                    "truncated": " ".join(target.split()[:4]),
                    "copied": source,
                    OTHER: THIRD[i],
                }
                assert damaged[i] == (source, expected[kind])


def test_the_table_of_a_worked_example():
    """Trial one finds two copied pairs of three bad pairs. Trial two finds one of two, and drops a good pair."""
    first = {0: "copied", 3: "copied", 5: "merged"}, {"rules": {0, 3}}
    second = {1: "copied", 2: "merged"}, {"rules": {1, 7}}
    assert table([first, second], 10) == [
        "| kind | planted | rules |",
        "| --- | ---: | ---: |",
        "| merged | 2 | 0.0% |",
        "| copied | 3 | 100.0% |",
        "| all | 5 | 60.0% |",
        "| precision |  | 75.0% |",
        "| good pairs lost | of 15 | 1 (6.67%) |",
    ]


def test_too_few_long_sentences_are_refused():
    with pytest.raises(NmtError, match="cannot damage 4 of 1 pairs of 6 words or more"):
        damage([PAIRS[0], *[("short", "court")] * 39], 0.1, 1)


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(REPOSITORY / "scripts" / "benchmarks" / "measure_cleaning.py"), *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
    )


def test_the_script_writes_tables_and_damaged_corpora(tmp_path):
    demo = REPOSITORY / "data" / "demo"
    sides = ["--source", str(demo / "test.en"), str(demo / "validation.en")]
    sides += ["--target", str(demo / "test.fr"), str(demo / "validation.fr")]
    result = run(*sides, "--seeds", "1", "--output", "out", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == (tmp_path / "out" / "tables.md").read_text()
    rows = {cells[0]: cells[1:] for row in result.stdout.splitlines() if (cells := row.strip("| ").split(" | "))}
    assert rows["copied"] == rows["exchanged"] == ["14", "100.0%"]
    assert rows["good pairs lost"] == ["of 900", "0 (0.00%)"]
    damaged = [row.split("\t") for row in (tmp_path / "out" / "damage-1.tsv").read_text().splitlines()[1:]]
    assert len(damaged) == 100
    for column, (side, given) in enumerate((("source", "en"), ("target", "fr")), start=2):
        expected = [
            line for name in ("test", "validation") for line in (demo / f"{name}.{given}").read_text().splitlines()
        ]
        for row in damaged:
            expected[int(row[0]) - 1] = row[column]
        assert (tmp_path / "out" / f"damaged-1.{side}").read_text().splitlines() == expected


def test_sides_of_different_length_are_refused_in_one_line(tmp_path):
    (tmp_path / "a").write_text("one\ntwo\n")
    (tmp_path / "b").write_text("one\n")
    result = run("--source", "a", "--target", "b", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (2, "measure_cleaning.py: error: the sides differ in lines: 2, 1\n")


def test_another_language_needs_its_sentences(tmp_path):
    (tmp_path / "a").write_text("one\n")
    result = run("--source", "a", "--target", "a", "--kinds", "other language", cwd=tmp_path)
    expected = "--kinds 'other language' needs --other, the same sentences in a third language"
    assert (result.returncode, result.stderr) == (2, f"measure_cleaning.py: error: {expected}\n")


def test_kinds_can_be_chosen():
    damaged, kinds = damage(PAIRS, 0.5, 1, THIRD, ["copied"])
    assert set(kinds.values()) == {"copied"}
    assert all(damaged[i] == ((PAIRS[i][0],) * 2 if i in kinds else PAIRS[i]) for i in range(len(PAIRS)))
