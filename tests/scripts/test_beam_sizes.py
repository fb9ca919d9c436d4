"""The script that measures BLEU and speed by beam size."""

from __future__ import annotations

import csv
import sys
from types import SimpleNamespace

import pytest

import nmt
from benchmarks import beam_sizes
from common import running
from nmt.config import RunConfig


class Copier:
    """Copies the first `beam_size` words of a sentence, one fewer with pruning, and one fewer with a short list."""

    config = RunConfig()

    @classmethod
    def load(cls, model, precision):
        return cls()

    def translate(self, sentences, search):
        for sentence in sentences:
            said = sentence.split()[: search.beam_size - bool(search.prune) - bool(search.short_list)]
            yield SimpleNamespace(text=" ".join(said), log_probability=-2.0)


@pytest.fixture
def measured(monkeypatch, tmp_path, write):
    """Runs the script with these arguments; returns its exit code."""
    monkeypatch.setattr(nmt, "Translator", Copier, raising=False)

    def run(*more: str, reference: tuple[str, ...] = ("a b c d e f", "g h i j k l")) -> int:
        files = ["--source", write("source", "a b c d e f", "g h i j k l"), "--reference", write("ref", *reference)]
        arguments = ["--model", "run", *files, "--output", str(tmp_path / "found"), "--repeats", "2", *more]
        monkeypatch.setattr(sys, "argv", ["beam_sizes.py", *arguments])
        return running.run_script(beam_sizes.main)

    return run


def test_a_row_and_a_point_for_each_beam_of_each_precision(measured, tmp_path, capsys):
    assert measured("--beams", "3", "6", "--precision", "float32", "mixed_bfloat16") == 0
    with open(tmp_path / "found/points.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["precision"], row["beam"]) for row in rows] == [
        ("float32", "3"),
        ("float32", "6"),
        ("mixed_bfloat16", "3"),
        ("mixed_bfloat16", "6"),
    ]
    assert (float(rows[1]["bleu"]), float(rows[1]["words"])) == (pytest.approx(100), 1.0)
    assert float(rows[0]["bleu"]) < 40 and float(rows[0]["words"]) == 0.5
    assert all(0 < float(row["slowest"]) <= float(row["speed"]) <= float(row["fastest"]) for row in rows)
    table = capsys.readouterr().out
    assert "| mixed_bfloat16 | 6 | 100.00 | 1.000 | -2.000 | " in table
    assert (tmp_path / "found/table.md").read_text(encoding="utf-8") == table
    assert (tmp_path / "found/curve.png").read_bytes().startswith(b"\x89PNG")


def test_each_pruning_and_short_list_has_points_of_its_own(measured, tmp_path, capsys):
    assert measured("--beams", "6", "--prune", "0", "1.5", "--short-list", "0", "20") == 0
    with open(tmp_path / "found/points.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [tuple(float(row[name]) for name in ("prune", "short_list", "words")) for row in rows] == [
        (0, 0, 1),
        (0, 20, pytest.approx(10 / 12)),
        (1.5, 0, pytest.approx(10 / 12)),
        (1.5, 20, pytest.approx(8 / 12)),
    ]
    assert all(float(row["alone"]) > 0 for row in rows)
    table = capsys.readouterr().out
    assert "| float32 | 6 | 100.00 |" in table and "| float32, --prune 1.5, --short-list 20 | 6 | " in table


def test_mistakes_are_a_line_and_exit_code_2(measured, capsys):
    assert measured(reference=("a",)) == 2
    assert "source has 2 lines and" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        measured("--beams", "0")
    assert "--beams, --repeats and --alone: expected 1 or more" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        measured("--prune", "-1")
    assert "--prune and --short-list: expected 0 or more" in capsys.readouterr().err
