"""`training.minutes`: the epochs, the dropout and the network that fit."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from corruptions import make_run

from nmt.cli import main
from nmt.config import ConfigError, recipes
from nmt.config.yaml_files import load_fields
from nmt.errors import NmtError
from nmt.training import auto_recipe
from nmt.training.budget import Speed, Work, plan, scaled_dropout, smaller_networks, time_training
from nmt.training.quality.fit import load_fit
from nmt.training.settings import load_config

FIT = load_fit()._replace(gain=0.15, size=0.15)
WORK = Work(batches=100, pairs=1000, validation_pairs=0, passes=20)


def planned(seconds: float, steps: list[float], work: Work = WORK, parameters=(1000, 500, 100)):
    """A plan with networks that take so many seconds for a step; no time passes in trials."""
    return plan(seconds, work, parameters[: len(steps)], lambda place: Speed(steps[place], 0.0), lambda: 0.0, FIT)


def test_a_budget_that_the_recipe_fits_changes_nothing() -> None:
    # 20 epochs of 100 batches of 0.1 s are 200 s.
    found = planned(200, [0.1, 0.01])
    assert (found.passes, found.network, found.dropout, found.loss) == (20, 0, 1, 0)
    assert planned(10_000, [0.1]).passes == 20


def test_half_the_time_has_half_the_epochs_and_half_the_dropout() -> None:
    found = planned(100, [0.1])
    assert (found.passes, found.dropout) == (10, 0.5)
    assert found.loss == pytest.approx(0.15)  # 0.15 x (1 / 0.5 - 1)


def test_a_smaller_network_wins_where_it_loses_less_than_the_missing_epochs() -> None:
    # 4 of 20 epochs lose 0.15 x 4 = 0.6; 8 epochs of half the parameters lose 0.15 x 1.5 + 0.15 x ln 2 = 0.33.
    found = planned(40, [0.1, 0.05])
    assert (found.network, found.passes) == (1, 8) and found.loss == pytest.approx(0.329, abs=1e-3)
    # Half of the epochs lose 0.15, and the smaller network, no faster, 0.15 + 0.10.
    assert planned(100, [0.1, 0.1]).network == 0


def test_networks_that_cannot_win_are_not_timed() -> None:
    timed = []

    def trial(place: int) -> Speed:
        timed.append(place)
        return Speed([0.1, 0.05, 0.01][place], 0.0)

    plan(190, WORK, [1000, 500, 10], trial, lambda: 0.0, FIT)  # 19 of 20 epochs lose 0.008
    assert timed == [0]
    timed.clear()
    plan(20, WORK, [1000, 500, 10], trial, lambda: 0.0, FIT)
    assert timed == [0, 1, 2]


def test_trials_building_and_validation_take_time_of_the_budget() -> None:
    clock = iter([0.0, 40.0])
    assert plan(100, WORK, [9], lambda _: Speed(0.1, 10.0), lambda: next(clock), FIT).passes == 5  # 50 s of 10 s
    # A validation of 1,000 pairs takes 5 s: 2 of them are a tenth of 100 s, and leave 90 s.
    found = planned(100, [0.1], WORK._replace(validation_pairs=1000))
    assert (found.validations, found.passes) == (2, 9)
    assert planned(100, [0.1]).validations == 20
    tiny = planned(1, [0.1], WORK._replace(validation_pairs=1000))
    assert (tiny.passes, tiny.validations, tiny.fits) == (1, 1, False)
    assert found.fits and planned(10, [0.1]).fits and not planned(9, [0.1]).fits


def test_the_dropout_of_embeddings_stays_and_nothing_falls_below_a_third() -> None:
    rates = {"embedding": 0.3, "encoder": 0.3, "state": 0.1, "context": 0.1, "readout": 0.3, "residual": 0.3}
    scaled = scaled_dropout(rates, 0.5)
    assert scaled == {
        "embedding": 0.3, "encoder": 0.15, "state": 0.05, "context": 0.05, "readout": 0.15, "residual": 0.15,
    }  # fmt: skip
    assert planned(10, [0.1]).dropout == pytest.approx(1 / 3)


def test_the_networks_are_those_of_recipes_and_become_smaller() -> None:
    models = {name: load_fields(recipes.path(name))["model"] for name in recipes.SIZES}
    sizes = [network["units"] for network in smaller_networks(models["10k"], list(models.values()))]
    assert sizes == [512, 256, 128]
    assert len(smaller_networks(models["100"], list(models.values()))) == 1


@pytest.fixture
def text(tmp_path):
    for side in ("en", "de"):
        (tmp_path / side).write_text("".join(f"{side}{n} b\n" for n in range(400)), encoding="utf-8")
    return [
        "--name", "mine", "--directory", str(tmp_path), "--corpus.train.source", str(tmp_path / "en"),
        "--corpus.train.target", str(tmp_path / "de"),
    ]  # fmt: skip


@pytest.fixture
def timed(monkeypatch):
    """Networks that take 0.1 s for a step; the list has their units."""
    found: list[int] = []

    def trial(config, length):
        found.append(config.model.units)
        return Speed(0.1, 0.0)

    monkeypatch.setattr(auto_recipe, "time_training", trial)
    return found


def test_auto_chooses_within_the_minutes_and_the_user_overrides(text, timed):
    said: list[str] = []
    config = load_config(None, [*text, "--training.minutes", "0.5"], "auto", said.append)
    whole = load_config(None, text, "auto")
    assert 1 <= config.training.passes < whole.training.passes and config.training.minutes == 0.5
    assert config.model.dropout.encoder < whole.model.dropout.encoder
    assert any(line.startswith("0.5 minutes: ") and "dropout times" in line for line in said)
    timed.clear()
    own = load_config(
        None, [*text, "--training.minutes", "0.5", "--model.units", "64", "--model.dropout.encoder", "0.4"], "auto"
    )
    assert (own.model.units, own.model.dropout.encoder, timed) == (64, 0.4, [64])


def test_networks_that_the_users_settings_do_not_fit_are_not_tried(text, timed):
    flags = [*text, "--training.minutes", "0.5", "--model.readout"]
    assert load_config(None, [*flags, "128"], "auto").model.readout == 128
    assert timed and set(timed) == {256}
    with pytest.raises(ConfigError, match="readout is 77, but the output layer is tied to embeddings"):
        load_config(None, [*flags, "77"], "auto")


def test_a_run_that_has_begun_is_never_timed_again(text, timed, tmp_path):
    flags = [*text, "--training.minutes", "0.5"]
    begun = load_config(None, flags, "auto")
    (tmp_path / "mine").mkdir()
    from nmt.config import config_to_dict

    (tmp_path / "mine" / "config.json").write_text(json.dumps(config_to_dict(begun)), encoding="utf-8")
    timed.clear()
    assert load_config(None, flags, "auto") == begun and timed == []
    assert load_config(tmp_path / "mine" / "config.json", []) == begun  # its own file repeats it


@pytest.mark.parametrize(
    ("flags", "recipe", "message"),
    [
        (["--training.minutes", "5"], "30k", "training.minutes is for recipe auto"),
        (["--training.minutes", "5", "--training.passes", "3"], "auto", "leave one of them out"),
        (["--training.minutes", "5", "--training.passes", "3"], "", "training.minutes is for recipe auto"),
        (["--training.minutes", "-1"], "auto", "minutes is -1.0: expected 0 or more"),
        (["--training.minutes", "5", "--training.devices", "2"], "auto", "training.minutes times one device"),
    ],
)
def test_minutes_without_effect_are_refused(text, timed, flags, recipe, message):
    with pytest.raises(ConfigError, match=message):
        load_config(None, [*text, *flags], recipe)


def test_minutes_need_validation_pairs_and_a_new_network(text, timed, tmp_path):
    (tmp_path / "none").write_text("")
    flags = [*text, "--training.minutes", "5"]
    none = ["--corpus.validation.source", str(tmp_path / "none"), "--corpus.validation.target", str(tmp_path / "none")]
    with pytest.raises(NmtError, match="corpus.validation has no pairs"):
        load_config(None, [*flags, *none], "auto")
    run = make_run(tmp_path / "old", 0)
    with pytest.raises(ConfigError, match="training.minutes is for a new network: give --training.passes"):
        load_config(None, [*flags, "--training.initial", str(run.directory)], "auto")


def test_a_run_of_few_settings_is_resumed(text, tmp_path):
    """Such as one that another program has written: the missing groups have their defaults."""
    (tmp_path / "mine").mkdir()
    saved = {"format": 2, "name": "mine", "model": {"units": 64}, "corpus": {"held_out": 5}}
    (tmp_path / "mine" / "config.json").write_text(json.dumps(saved), encoding="utf-8")
    config = load_config(None, text, "auto")
    assert (config.model.units, config.corpus.held_out) == (64, 5)


@pytest.mark.slow
def test_a_training_of_some_minutes_is_trained_and_resumed_by_the_same_command(text, tmp_path, capsys):
    command = ["train", "--recipe", "auto", *text, "--training.minutes", "0.05", "--training.live_view", "false"]
    assert main(command) == 0
    saved = json.loads((tmp_path / "mine" / "config.json").read_text())["training"]
    assert saved["passes"] == 1 and saved["minutes"] == 0.05
    assert "even this takes longer than the time allows" in capsys.readouterr().err
    assert main(command) == 0
    assert "has begun already, so nothing is chosen anew" in capsys.readouterr().err


@pytest.mark.slow
def test_a_network_is_timed_by_steps_like_those_of_the_training(text):
    config = load_config(None, [*text, "--training.batch_tokens", "200"], "100")
    found = time_training(config, 10)
    assert 0 < found.step < 5 and found.start > 0
    larger = replace(config, model=replace(config.model, units=1024))
    assert time_training(larger, 10).step > found.step
