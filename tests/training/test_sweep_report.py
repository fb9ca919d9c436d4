"""The report of a sweep, on trials whose values are known."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import optuna
import pytest
import yaml
from optuna.trial import TrialState

from nmt.training.sweep import report
from nmt.training.sweep.report import write_report
from nmt.training.sweep.space import Space, read_space

UNITS, RATE = "model.units", "training.schedule.learning_rate"
RANGES = {UNITS: {"choices": [32, 16]}, RATE: {"low": 0.0001, "high": 0.01, "log": True}}


def read(directory: Path, **fields: Any) -> Space:
    path = directory / "space.yaml"
    path.write_text(json.dumps({"common": {"training": {"passes": 3}}, "space": RANGES} | fields))
    return read_space(path)


def study_of(space: Space, *values: float | None) -> optuna.Study:
    """A study with two validations of each trial; None: the trial is pruned after the first."""
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))
    for number, value in enumerate(values):
        trial = study.ask()
        space.suggest(trial)
        trial.set_user_attr("run", f"run-{number}")
        trial.report(0.5, 1)
        if value is not None:
            trial.report(value, 2)
        study.tell(trial, value, TrialState.COMPLETE if value is not None else TrialState.PRUNED)
    return study


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are saved."""
    saved: list[Any] = []
    monkeypatch.setattr(report, "save_figure", lambda figure, path: saved.append(figure))
    return saved


def test_the_table_has_a_row_for_each_trial(tmp_path: Path, drawn: list[Any]) -> None:
    space = read(tmp_path)
    study = study_of(space, 3.0, None, 7.5)
    table, _, _ = write_report(study, space, tmp_path, "best")
    rows = list(csv.DictReader(table.open()))
    assert [(row["trial"], row["state"], row["bleu"], row["validations"], row["run"]) for row in rows] == [
        ("0", "complete", "3.0", "2", "run-0"),
        ("1", "pruned", "0.5", "1", "run-1"),  # optuna gives a pruned trial its last value
        ("2", "complete", "7.5", "2", "run-2"),
    ]
    assert [(int(row[UNITS]), float(row[RATE])) for row in rows] == [tuple(t.params.values()) for t in study.trials]


def test_the_best_values_over_the_common_fields_make_a_configuration(tmp_path: Path, drawn: list[Any]) -> None:
    space = read(tmp_path)
    study = study_of(space, 3.0, 7.5, 6.0)
    _, _, config = write_report(study, space, tmp_path, "best")
    best = study.trials[1].params
    assert yaml.safe_load(config.read_text()) == {
        "training": {"passes": 3, "schedule": {"learning_rate": best[RATE]}},
        "model": {"units": best[UNITS]},
        "name": "best",
        "directory": "saved_models",
    }


def test_a_panel_of_each_field_has_a_point_of_each_completed_trial(tmp_path: Path, drawn: list[Any]) -> None:
    space = read(tmp_path)
    study = study_of(space, 3.0, None, 7.5)
    write_report(study, space, tmp_path, "best")
    units, rate = drawn[0].axes
    completed = [study.trials[0], study.trials[2]]
    choices = RANGES[UNITS]["choices"]
    assert units.collections[0].get_offsets().tolist() == [
        [choices.index(trial.params[UNITS]), trial.value] for trial in completed
    ]
    assert [tick.get_text() for tick in units.get_xticklabels()] == ["32", "16"]
    assert rate.collections[0].get_offsets().tolist() == [[trial.params[RATE], trial.value] for trial in completed]
    assert (units.get_xscale(), rate.get_xscale()) == ("linear", "log")
    assert (units.get_xlabel(), rate.get_xlabel()) == (UNITS, RATE)
    assert (units.get_ylabel(), rate.get_ylabel()) == ("best validation BLEU", "")
    earlier, later = units.collections[0].get_facecolors()[:, :3].sum(axis=1)
    assert later < earlier


def test_more_fields_than_columns_start_a_second_row(tmp_path: Path, drawn: list[Any]) -> None:
    rates = {f"model.dropout.{where}": {"low": 0.0, "high": 0.5} for where in ("embedding", "encoder", "state")}
    space = read(tmp_path, metric="loss", space=RANGES | rates)
    write_report(study_of(space, 3.0), space, tmp_path, "best")
    panels = drawn[0].axes
    assert [panel.get_visible() for panel in panels] == [True] * 5 + [False] * 3
    assert [panel.get_ylabel() for panel in panels[:5]] == ["best validation loss", "", "", "", "best validation loss"]


def test_the_drawing_is_a_png(tmp_path: Path) -> None:
    space = read(tmp_path)
    _, drawing, _ = write_report(study_of(space, 3.0), space, tmp_path, "best")
    assert drawing.read_bytes().startswith(b"\x89PNG")
