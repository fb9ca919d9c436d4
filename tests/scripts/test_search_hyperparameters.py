"""The search for hyper-parameters: what a space may say, and how values go into a configuration."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import contextmanager
from pathlib import Path

import optuna
import pytest

from hyperparameters.space import read_space
from hyperparameters.trials import run_trial
from nmt.errors import NmtError
from search_hyperparameters import _study

REPOSITORY = Path(__file__).parents[2]


def space(directory: Path, **fields) -> Path:
    path = directory / "space.yaml"
    path.write_text(json.dumps(fields))
    return path


def test_values_go_over_what_all_trials_share(tmp_path):
    common = {"model": {"units": 64, "embedding": 32}}
    ranges = {"model.units": {"choices": [16, 32]}, "training.schedule.learning_rate": {"low": 1e-4, "high": 1e-2}}
    read = read_space(space(tmp_path, common=common, space=ranges))
    fields = read.fields({"model.units": 16, "training.schedule.learning_rate": 0.01}, "first", "runs")
    assert fields == {
        "model": {"units": 16, "embedding": 32},
        "training": {"schedule": {"learning_rate": 0.01}},
        "name": "first",
        "directory": "runs",
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"space": {}}, "space: expected fields, each with low and high, or with choices"),
        ({"spaces": {}}, "expected the fields config, common, metric, space"),
        ({"space": {"model.units": {"low": 4}}}, "model.units: expected choices, or low and high"),
        ({"space": {"model.units": {"low": 4, "high": 8, "choices": [4]}}}, "expected choices, or low and high"),
        ({"space": {"model.units": {"choices": []}}}, "choices: expected a list"),
        ({"space": {"model.unitz": {"choices": [4]}}}, "model.unitz = 4: model: unknown field unitz"),
        ({"space": {"model.units": {"low": 3, "high": 8}}}, "model.units = 3: model.units is 3: expected an even"),
        ({"space": {"model.units": {"low": 8, "high": 4}}}, "space: model.units: "),
        ({"space": {"training.ema": {"low": 0.0, "high": 0.5, "log": True}}}, "space: training.ema: "),
        ({"config": 5, "space": {"model.units": {"choices": [4]}}}, "expected a file's name as config"),
        ({"metric": "ter", "space": {"model.units": {"choices": [4]}}}, "metric is ter: expected bleu or loss"),
    ],
)
def test_a_space_that_cannot_be_searched_is_refused(tmp_path, fields, message):
    with pytest.raises(NmtError) as error:
        read_space(space(tmp_path, **fields))
    assert message in str(error.value)


def test_the_demo_s_space_can_be_read(monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    assert read_space(Path("data/demo/space.yaml")).metric == "bleu"


def test_ends_are_written_as_in_a_configuration(tmp_path):
    read = read_space(space(tmp_path, space={"training.schedule.learning_rate": {"low": "1e-4", "high": "1e-2"}}))
    assert read.ranges == {"training.schedule.learning_rate": {"low": 1e-4, "high": 1e-2}}


def test_what_trials_share_may_be_commented_out(tmp_path):
    assert read_space(space(tmp_path, common=None, space={"model.units": {"choices": [4]}})).common == {}


def test_values_that_are_being_tried_are_not_trained_a_second_time_beside(tmp_path):
    read = read_space(space(tmp_path, space={"model.units": {"choices": [4]}}))
    trial = optuna.trial.FixedTrial({"model.units": 4})

    class Stopped:
        @contextmanager
        def started(self, arguments, log):
            with pytest.raises(optuna.TrialPruned, match="another trial has these values"):
                run_trial(trial, read, tmp_path, self)
            yield None

    with pytest.raises(NmtError, match="is not started"):
        run_trial(trial, read, tmp_path, Stopped())


def test_a_search_goes_on_in_its_own_space_alone(tmp_path):
    arguments = Namespace(output=tmp_path / "search", seed=1, space=tmp_path / "space.yaml")
    ranges = {"model.units": {"choices": [4, 8]}}
    first = read_space(space(tmp_path, space=ranges))
    for _ in range(2):
        _study(arguments, first)
    for changes in ({"metric": "loss"}, {"space": {"model.units": {"choices": [4]}}}, {"common": {"name": "x"}}):
        with pytest.raises(NmtError, match="holds a search of another space"):
            _study(arguments, read_space(space(tmp_path, **{"space": ranges, **changes})))
