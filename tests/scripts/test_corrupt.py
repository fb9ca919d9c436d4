"""The script that damages translations and measures how many of them a report ranks first."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from common.running import run_script
from corpora.corrupt import damage, main, measure
from nmt.errors import NmtError

TARGETS = [" ".join(f"{letter}{number}" for letter in "abcdefgh") + " ." for number in range(60)] + ["too short ."] * 40


def test_each_kind_damages_a_third_of_the_share():
    damaged, kinds = damage(TARGETS, 0.3, seed=4)
    assert Counter(kinds.values()) == {"swapped": 10, "dropped": 10, "repeated": 10}
    assert damage(TARGETS, 0.3, seed=4) == (damaged, kinds) != damage(TARGETS, 0.3, seed=5)
    for line, (before, after) in enumerate(zip(TARGETS, damaged, strict=True), start=1):
        words, left = before.split(), after.split()
        if line not in kinds:
            assert after == before
        elif kinds[line] == "swapped":
            assert after != before and after in TARGETS
        elif kinds[line] == "dropped":
            begin = next(i for i, (a, b) in enumerate(zip(words, left, strict=False)) if a != b)
            gone = len(words) - len(left)
            assert 2 <= gone <= 4 and left == words[:begin] + words[begin + gone :]
        else:
            twice = [word for word, count in Counter(left).items() if count == 2]
            begin = left.index(twice[0])
            assert 2 <= len(twice) <= 4 and left == words[:begin] + twice + words[begin:]


def test_precision_of_a_ranking():
    kinds = {1: "swapped", 2: "dropped", 3: "repeated", 4: "repeated"}
    report = measure([1, 9, 3, 2, 8, 4], kinds)
    assert report == [
        "precision at 2: 0.500",
        "precision at 4: 0.750",
        "average precision: 0.771",  # (1/1 + 2/3 + 3/4 + 4/6) / 4
        "swapped: 1 of 1 among the first 4",
        "dropped: 1 of 1 among the first 4",
        "repeated: 1 of 2 among the first 4",
    ]
    with pytest.raises(NmtError, match="cannot damage 20 of 40 sentences, because 0 have 6 words"):
        damage(TARGETS[60:], 0.5, seed=1)


def test_a_share_too_small_to_swap_is_refused():
    with pytest.raises(NmtError, match="3 of 100 sentences are too few for each kind of damage"):
        damage(TARGETS, 0.03, seed=1)
    damaged, kinds = damage(TARGETS, 0.04, seed=1)
    assert all(damaged[line - 1] != TARGETS[line - 1] for line in kinds)


@pytest.mark.parametrize(
    ("table", "by", "message"),
    [
        ("rank\n1\n", None, "report: has no column line, only: rank"),
        ("line\tscore\nx\t1\n", None, "report:2: 'x' in column line: expected a number"),
        ("line\tsource\n1\tein Haus\n", "source", "report: --by source: could not convert"),
        ("line\n1\n", "score", "report: has no column score, only: line"),
    ],
)
def test_broken_tables_are_refused(table, by, message, tmp_path, monkeypatch, capsys):
    (tmp_path / "damage").write_text("line\tkind\n1\tswapped\n")
    (tmp_path / "report").write_text(table)
    files = ["--damage", str(tmp_path / "damage"), "--report", str(tmp_path / "report")]
    monkeypatch.setattr(sys, "argv", ["corrupt.py", "measure", *files, *(["--by", by] if by else [])])
    assert run_script(main) == 2
    assert message in capsys.readouterr().err
