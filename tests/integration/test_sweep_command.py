"""The search for hyper-parameters as a user runs it."""

from __future__ import annotations

import csv
import json

import copy_task
import pytest
from commands import run

from nmt.training.settings import load_config


@pytest.mark.slow
def test_a_larger_budget_continues_the_search(tmp_path):
    """One trial, then a second one. The best configuration can be loaded."""
    copy_task.write_corpus(tmp_path, train=200, validation=8)
    common = copy_task.merged(copy_task.fields(tmp_path), {"training": {"passes": 1}})
    ranges = {"model.units": {"choices": [8, 16]}, "model.dropout.readout": {"low": 0.0, "high": 0.5}}
    (tmp_path / "space.yaml").write_text(json.dumps({"common": common, "space": ranges}))
    command = ["-m", "nmt", "sweep", "--space", "space.yaml", "--output", "found"]
    refused = run(command, tmp_path)
    assert refused.returncode == 2
    assert refused.stderr == "nmt: error: give a budget: --trials, --hours, or both\n"
    for trials in (1, 2):
        done = run([*command, "--trials", str(trials)], tmp_path)
        assert done.returncode == 0, done.stderr
        with open(tmp_path / "found" / "trials.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["state"] for row in rows] == ["complete"] * trials
        assert len({row["run"] for row in rows}) == trials
    best = max(float(row["bleu"]) for row in rows)
    assert f"best bleu {best:.2f}" in done.stderr
    assert (tmp_path / "found" / "trials.png").stat().st_size > 5000
    config = load_config(tmp_path / "found" / "best.yaml")
    winner = max(rows, key=lambda row: float(row["bleu"]))
    assert config.model.units == int(winner["model.units"])
    assert config.model.dropout.readout == pytest.approx(float(winner["model.dropout.readout"]))
