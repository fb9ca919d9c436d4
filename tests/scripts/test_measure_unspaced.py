"""The measurement of a target language without spaces: its texts, and the script on a few pairs."""

from __future__ import annotations

import argparse
import json

import commands
import pytest

from benchmarks.benchmarking import machine
from benchmarks.measure_unspaced import table, write_text


def test_the_texts_differ_in_the_white_space_of_the_target_alone(tmp_path):
    (tmp_path / "source").write_text("a b\n", encoding="utf-8")
    (tmp_path / "target").write_text("c d\u3000e .\n", encoding="utf-8")
    pair = tmp_path / "source", tmp_path / "target"
    arguments = argparse.Namespace(source=pair[0], target=pair[1], validation=pair, test=pair, output=tmp_path)
    written = {form: write_text(arguments, form)["test"] for form in ("spaced", "unspaced")}
    assert written["spaced"][0] == written["unspaced"][0] == pair[0]
    assert written["spaced"][1].read_text("utf-8") == "c d\u3000e .\n"
    assert written["unspaced"][1].read_text("utf-8") == "cde.\n"


def test_the_table_has_the_difference_of_each_seed_and_their_mean():
    scores = {(1, "spaced"): 60.0, (1, "unspaced"): 59.5, (2, "spaced"): 61.0, (2, "unspaced"): 61.1}
    results = [{"seed": seed, "form": form, "chrf": chrf} for (seed, form), chrf in scores.items()]
    lines = table({"machine": machine.describe(), "results": results}).splitlines()
    assert lines[-3:] == ["| 1 | 60.00 | 59.50 | -0.50 |", "| 2 | 61.00 | 61.10 | +0.10 |", "| mean | | | -0.20 |"]


@pytest.mark.slow
def test_the_script_trains_and_scores_both_forms_and_repeats_nothing(tmp_path):
    for side in ("en", "fr"):
        lines = (commands.REPOSITORY / f"data/demo/train.{side}").read_text(encoding="utf-8").splitlines()[:150]
        for name, part in {"train": lines[:120], "validation": lines[120:135], "test": lines[135:]}.items():
            (tmp_path / f"{name}.{side}").write_text("\n".join(part) + "\n", encoding="utf-8")
    files = "--source train.en --target train.fr --validation validation.en validation.fr --test test.en test.fr"
    small = "--model.units 8 --model.embedding 8 --training.passes 1"
    command = f"{files} --seeds 1 --output out {small}"
    printed = commands.script("benchmarks/measure_unspaced", command, tmp_path).stdout
    found = json.loads((tmp_path / "out" / "unspaced.json").read_text("utf-8"))["results"]
    assert [one["form"] for one in found] == ["spaced", "unspaced"]
    assert all(0 <= one["chrf"] <= 100 for one in found) and printed.splitlines()[-2].startswith("| 1 | ")
    again = commands.script("benchmarks/measure_unspaced", command, tmp_path)
    assert printed.endswith(again.stdout) and "epoch" not in again.stderr
