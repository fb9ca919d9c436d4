"""The search for hyper-parameters: the space, the trials and the study."""

from __future__ import annotations

import json
import math
import sys
from contextlib import contextmanager
from pathlib import Path

import optuna
import pytest
import yaml
from commands import run

from nmt.cli import main
from nmt.config import RunConfig, VocabularyConfig
from nmt.errors import NmtError, install_command
from nmt.run.directory import Run
from nmt.text.tokenizer import Tokenizer
from nmt.training.sweep import study as sweep_study
from nmt.training.sweep.space import Space, read_space
from nmt.training.sweep.study import Budget, open_study, sweep
from nmt.training.sweep.trials import TrialError, run_trial

REPOSITORY = Path(__file__).parents[2]


def space(directory: Path, **fields) -> Path:
    path = directory / "space.yaml"
    path.write_text(yaml.safe_dump(fields, sort_keys=False))
    return path


def begun(file: Path, read: Space, output: Path, seed: int) -> optuna.Study:
    """The study in a directory, which is made as `sweep` makes it."""
    output.mkdir(exist_ok=True)
    return open_study(file, read, output, seed)


def test_the_values_of_a_trial_override_the_common_fields(tmp_path):
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
        ({"space": {"model.units": {"low": 4, "high": 8, "step": 0.5}}}, "units: step is 0.5: expected a whole number"),
        ({"space": {"search.length_penalty": {"low": 0, "high": 2, "step": 0}}}, "space: search.length_penalty: "),
        ({"space": {"model.units": {"low": 4, "high": math.inf}}}, "units: high is inf: expected a finite number"),
        ({"space": {"training.ema": {"low": 0, "high": 1, "step": math.nan}}}, "ema: step is nan: expected a finite"),
        ({"space": {1: {"low": 4, "high": 8}}}, "space: 1: expected the name of a field"),
        ({"config": 5, "space": {"model.units": {"choices": [4]}}}, "expected a file name at config"),
        ({"metric": "ter", "space": {"model.units": {"choices": [4]}}}, "metric is ter: expected bleu or loss"),
    ],
)
def test_a_space_with_a_mistake_is_refused(tmp_path, fields, message):
    with pytest.raises(NmtError) as error:
        read_space(space(tmp_path, **fields))
    assert message in str(error.value)


def test_the_space_of_the_demo_corpus_can_be_read(monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    assert read_space(Path("data/demo/space.yaml")).metric == "bleu"


def test_a_range_may_end_in_a_power_of_ten(tmp_path):
    read = read_space(space(tmp_path, space={"training.schedule.learning_rate": {"low": "1e-4", "high": "1e-2"}}))
    assert read.ranges == {"training.schedule.learning_rate": {"low": 1e-4, "high": 1e-2}}


def test_the_kind_of_a_field_decides_between_whole_numbers_and_others(tmp_path):
    """Not the way in which its range is written."""
    ranges = {"search.length_penalty": {"low": 0, "high": 2}, "model.units": {"low": 8.0, "high": 1e2, "step": 2}}
    read = read_space(space(tmp_path, space=ranges))
    values = [read.suggest(optuna.create_study().ask()) for _ in range(5)]
    assert any(value["search.length_penalty"] % 1 for value in values)
    assert {type(value["model.units"]) for value in values} == {int}


def test_the_common_fields_may_be_empty(tmp_path):
    assert read_space(space(tmp_path, common=None, space={"model.units": {"choices": [4]}})).common == {}


def test_two_trials_at_once_do_not_train_the_same_values(tmp_path):
    read = read_space(space(tmp_path, space={"model.units": {"choices": [4]}}))
    trial = optuna.trial.FixedTrial({"model.units": 4})

    class Starter:
        @contextmanager
        def started(self, arguments, log):
            with pytest.raises(optuna.TrialPruned, match="another trial has these values"):
                run_trial(trial, read, tmp_path, self)
            yield None

    with pytest.raises(NmtError, match="not started"):
        run_trial(trial, read, tmp_path, Starter())


def test_a_trial_behind_the_others_is_pruned(tmp_path):
    read = read_space(space(tmp_path, space={"model.units": {"choices": [4]}}))
    pruner = optuna.pruners.ThresholdPruner(lower=10.0)
    trial = optuna.create_study(direction="maximize", pruner=pruner).ask()
    tokenizer = Tokenizer.train(["ein haus und ein baum"] * 3, VocabularyConfig(type="word", size=8))

    class Training:
        def poll(self):
            return None

    class Starter:
        @contextmanager
        def started(self, arguments, log):
            run = Run.create(tmp_path / "runs" / trial.user_attrs["run"], RunConfig(), tokenizer, tokenizer)
            run.write_history([{"step": 100, "validation_loss": 3.0, "validation_bleu": 2.5}])
            yield Training()

    with pytest.raises(optuna.TrialPruned, match="behind the others after 1 validation$"):
        run_trial(trial, read, tmp_path, Starter())


def test_a_history_that_was_changed_has_no_value_or_is_named(tmp_path):
    """Rows without the number are left out; a trial without any fails with the file's name."""
    read = read_space(space(tmp_path, space={"model.units": {"choices": [4]}}))
    tokenizer = Tokenizer.train(["ein haus und ein baum"] * 3, VocabularyConfig(type="word", size=8))

    def trained(*bleus: str):
        class Training:
            returncode = 0

            def poll(self):
                return 0

        class Starter:
            @contextmanager
            def started(self, arguments, log):
                run = Run.create(tmp_path / "runs" / trial.user_attrs["run"], RunConfig(), tokenizer, tokenizer)
                run.write_history([{"step": 1 + n, "validation_bleu": bleu} for n, bleu in enumerate(bleus)])
                yield Training()

        trial = optuna.create_study(direction="maximize").ask()
        return run_trial(trial, read, tmp_path, Starter())

    assert trained("2.5", "much", "1.5") == 2.5
    with pytest.raises(NmtError, match=r"runs/.*: history.csv has no number in validation_bleu: see .*\.log"):
        trained("much")


@pytest.mark.parametrize(("code", "failed"), [(2, True), (-9, True), (130, False), (-15, False)])
def test_a_training_that_fails_differs_from_one_that_is_interrupted(tmp_path, code, failed):
    trial = optuna.create_study().ask()

    class Training:
        returncode = code

        def poll(self):
            return code

    class Starter:
        @contextmanager
        def started(self, arguments, log):
            yield Training()

    read = read_space(space(tmp_path, space={"model.units": {"choices": [4]}}))
    with pytest.raises(TrialError):
        run_trial(trial, read, tmp_path, Starter())
    assert ("failed" in trial.user_attrs) == failed


def trains_below(limit, monkeypatch):
    """Replaces trainings: one with more units than `limit` fails. Returns the list of the units that were tried."""
    tried = []

    def trained(trial, space, output, commands):
        units = space.suggest(trial)["model.units"]
        tried.append(units)
        if units > limit:
            trial.set_user_attr("failed", f"{units} are too many")
            raise TrialError("failed")
        return float(units)

    monkeypatch.setattr(sweep_study, "run_trial", trained)
    return tried


def test_a_search_goes_on_without_the_trials_that_fail(tmp_path, monkeypatch, capsys):
    """They count as trials, their values are not tried first in the next call, and the others make a report."""
    tried = trains_below(32, monkeypatch)
    file = space(tmp_path, space={"model.units": {"low": 8, "high": 64, "step": 8}})
    sweep(file, tmp_path / "search", Budget(trials=12, hours=None))
    assert len(tried) == 12 and max(tried) > 32
    shown = capsys.readouterr().err
    assert f"failed: {max(tried)} are too many" in shown and "Traceback" not in shown
    assert yaml.safe_load((tmp_path / "search" / "best.yaml").read_text())["model"]["units"] == 32
    assert (tmp_path / "search" / "trials.csv").read_text().count(",fail,") == sum(units > 32 for units in tried)

    tried.clear()
    sweep(file, tmp_path / "search", Budget(trials=12, hours=None))
    assert tried == []


def test_trials_at_once_are_no_more_than_requested(tmp_path, monkeypatch):
    tried = trains_below(64, monkeypatch)
    file = space(tmp_path, space={"model.units": {"low": 8, "high": 64, "step": 8}})
    sweep(file, tmp_path / "search", Budget(trials=3, hours=None), jobs=2, seed=2**32 - 1)
    assert len(tried) == 3


def test_two_searches_need_two_directories(tmp_path, monkeypatch):
    file = space(tmp_path, space={"model.units": {"choices": [4, 8]}})

    def searches_too(trial, space, output, commands):
        with pytest.raises(NmtError, match="another process searches in .*search: wait for it, or end it"):
            sweep(file, output, Budget(trials=1, hours=None))
        return float(space.suggest(trial)["model.units"])

    monkeypatch.setattr(sweep_study, "run_trial", searches_too)
    sweep(file, tmp_path / "search", Budget(trials=1, hours=None))


def test_a_pruned_trial_is_called_so(tmp_path, monkeypatch, capsys):
    def pruned(trial, space, output, commands):
        units = space.suggest(trial)["model.units"]
        trial.report(float(units), 1)
        if trial.number:
            raise optuna.TrialPruned
        return 1.0

    monkeypatch.setattr(sweep_study, "run_trial", pruned)
    file = space(tmp_path, space={"model.units": {"choices": [4, 8]}})
    sweep(file, tmp_path / "search", Budget(trials=2, hours=None))
    shown = capsys.readouterr().err
    assert "trial 0: bleu 1.00" in shown and "trial 1: pruned" in shown


def test_a_search_whose_trials_all_fail_ends_soon(tmp_path, monkeypatch):
    tried = trains_below(0, monkeypatch)
    file = space(tmp_path, space={"model.units": {"choices": [4, 8, 16, 32]}})
    for trials in (3, 4):  # the second call tries once more
        with pytest.raises(NmtError, match=r"^no trial completed; the last failure: \d+ are too many$"):
            sweep(file, tmp_path / "search", Budget(trials=None, hours=1.0))
        assert len(tried) == trials


def test_a_directory_continues_the_search_of_one_space_only(tmp_path):
    file, output = tmp_path / "space.yaml", tmp_path / "search"
    ranges = {"model.units": {"choices": [4, 8]}}
    first = read_space(space(tmp_path, space=ranges))
    for _ in range(2):
        begun(file, first, output, seed=1)
    for changes in ({"metric": "loss"}, {"space": {"model.units": {"choices": [4]}}}, {"common": {"name": "x"}}):
        with pytest.raises(NmtError, match="holds a search of another space"):
            begun(file, read_space(space(tmp_path, **{"space": ranges, **changes})), output, seed=1)


def test_an_interrupted_trial_is_tried_again(tmp_path):
    file, output = tmp_path / "space.yaml", tmp_path / "search"
    read = read_space(space(tmp_path, space={"model.units": {"choices": [4, 8, 16, 32]}}))
    interrupted = read.suggest(begun(file, read, output, seed=1).ask())
    for seed in (2, 3, 4):  # each start finds the same waiting trial
        again = begun(file, read, output, seed=seed)
        assert len(again.get_trials(states=(optuna.trial.TrialState.WAITING,))) == 1
    assert read.suggest(again.ask()) == interrupted


def test_a_search_goes_on_after_a_stop_anywhere_in_its_journal(tmp_path):
    """A kill or a full disk may leave the beginning of a line."""
    file = space(tmp_path, space={"model.units": {"choices": [4, 8, 16]}})
    read, journal = read_space(file), tmp_path / "search" / "study.log"
    study = begun(file, read, tmp_path / "search", seed=1)
    for value in (3.0, 2.0):
        trial = study.ask()
        read.suggest(trial)
        trial.set_user_attr("run", "run-1")
        trial.report(value, 1)
        study.tell(trial, value)
    whole = journal.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for cut in {0, 1, *ends, *(end - 1 for end in ends), *(end - 40 for end in ends)}:
        journal.write_bytes(whole[:cut])
        for count in (1, 2):
            again = begun(file, read, tmp_path / "search", seed=2)
            again.tell(trial := again.ask(), float(count) if read.suggest(trial) else None)
        assert all(json.loads(line) for line in journal.read_bytes().splitlines())


def test_a_full_disk_names_the_journal(tmp_path, full_disk):
    file = space(tmp_path, space={"model.units": {"choices": [4, 8, 16]}})
    with pytest.raises(OSError) as caught:
        begun(file, read_space(file), tmp_path / "search", seed=1)
    assert caught.value.filename == str(tmp_path / "search" / "study.log")


def test_a_killed_search_keeps_no_lock(tmp_path, monkeypatch):
    """The lock ends with its process. A lock in the form of a file would stay."""
    monkeypatch.chdir(tmp_path)
    file = space(tmp_path, space={"model.units": {"choices": [4, 8]}})
    program = f"""
import os
from pathlib import Path
from nmt.training.sweep import journal, space, study
Path("search").mkdir()
opened = study.open_study(Path({str(file)!r}), space.read_space(Path({str(file)!r})), Path("search"), 1)
journal._KernelLock(Path("search/study.log")).acquire()
os.kill(os.getpid(), 9)
"""
    assert run(["-c", program], tmp_path).returncode == -9
    assert len(begun(file, read_space(file), Path("search"), seed=1).trials) == 0
    assert [path.name for path in Path("search").iterdir()] == ["study.log"]


@pytest.mark.parametrize("line", [b"nonsense\n", b"\0\0\n", b"5\n", b"[" * 100_000 + b"\n"])
def test_a_damaged_journal_is_named(tmp_path, line):
    file = space(tmp_path, space={"model.units": {"choices": [4, 8]}})
    begun(file, read_space(file), tmp_path / "search", seed=1)
    with open(tmp_path / "search" / "study.log", "ab") as journal:
        journal.write(line)
    with pytest.raises(NmtError, match=r"study\.log, line 3: damaged: restore the file, or choose another --output"):
        begun(file, read_space(file), tmp_path / "search", seed=1)


def test_a_sweep_needs_a_budget_and_optuna(tmp_path, monkeypatch, capsys):
    command = ["sweep", "--space", str(tmp_path / "space.yaml"), "--output", str(tmp_path / "search")]
    assert main(command) == 2
    assert capsys.readouterr().err == "nmt: error: give a budget: --trials, --hours, or both\n"
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert main([*command, "--trials", "1"]) == 2
    assert capsys.readouterr().err == f"nmt: error: nmt sweep needs optuna: {install_command('search')}\n"
