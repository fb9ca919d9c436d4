"""The study of a sweep: optuna chooses each trial's values, and a journal on disk keeps all trials."""

from __future__ import annotations

import dataclasses
import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import optuna
from optuna.exceptions import OptunaError
from optuna.storages import JournalStorage
from optuna.trial import FrozenTrial, TrialState

from nmt.errors import NmtError
from nmt.files.locking import locked
from nmt.progress import StatusLine, counted
from nmt.training.processes import CommandRunner, shared_cores
from nmt.training.sweep.journal import open_journal
from nmt.training.sweep.report import write_report
from nmt.training.sweep.space import Space, read_space
from nmt.training.sweep.trials import FAILED, TrialError, run_trial

FRUITLESS = 3
"""Failed trials after which a search ends where no trial has completed: its settings are probably wrong."""


@dataclass(frozen=True)
class Budget:
    """The end of a sweep: the first of the two limits; None: no limit."""

    trials: int | None
    """Finished trials in all, earlier calls included."""
    hours: float | None
    """Time of this call after which no trial starts."""


def sweep(space_file: Path, output: Path, budget: Budget, jobs: int = 1, seed: int = 1) -> None:
    """Searches a space of hyper-parameters, writes the report and prints where it is.

    Args:
        space_file: YAML file, see `read_space`.
        output: directory to write into, or to continue in.
        budget: when the search ends.
        jobs: trials at once, which share the cores.
        seed: seed of the search.

    Raises:
        NmtError: the space cannot be searched, the directory holds or runs another search, or no trial completed.
    """
    space, status = read_space(space_file), StatusLine()
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # its warning of a failed trial has a traceback
    output.mkdir(parents=True, exist_ok=True)
    with locked(output, NmtError(f"another process searches in {output}: wait for it, or end it")):
        study = open_study(space_file, space, output, seed)
        status.print(f"{counted(len(study.trials), 'trial')} so far; their logs are in {output}/logs")
        _search(study, space, output, budget, jobs, status)
    if not _completed(study):
        if failures := _failures(study):
            raise NmtError(f"no trial completed; the last failure: {failures[-1]}")
        raise NmtError("no trial completed: repeat the command with more --trials or --hours to continue")
    table, drawing, config = write_report(study, space, output, space_file.stem)
    status.print(f"best {space.metric} {study.best_value:.2f}, in trial {study.best_trial.number}; train it with:")
    status.print(f"  nmt train --config {quote(str(config))}")
    status.print(f"all trials are in {table}, drawn in {drawing}")


def _search(study: optuna.Study, space: Space, output: Path, budget: Budget, jobs: int, status: StatusLine) -> None:
    """Runs trials until the budget is spent, or `FRUITLESS` trials have failed and none has completed."""

    def report(study: optuna.Study, trial: FrozenTrial) -> None:
        status.print(_describe(trial, space.metric))
        if len(_failures(study)) >= FRUITLESS and not _completed(study):
            study.stop()

    left = None if budget.trials is None else budget.trials - len(_finished(study))
    if left is not None and left <= 0:
        return
    commands = CommandRunner(shared_cores(jobs))
    with _ended_by_signal(commands):
        study.optimize(
            lambda trial: run_trial(trial, space, output, commands),
            n_trials=left,
            timeout=None if budget.hours is None else 3600 * budget.hours,
            n_jobs=jobs,
            catch=(TrialError,),
            callbacks=[report],
        )


def _completed(study: optuna.Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


def _failures(study: optuna.Study) -> list[str]:
    """The messages of the failed trials."""
    trials = study.get_trials(deepcopy=False)
    return [trial.user_attrs[FAILED] for trial in trials if FAILED in trial.user_attrs]


def _finished(study: optuna.Study) -> list[FrozenTrial]:
    """The completed, pruned and failed trials; the interrupted ones are not among them."""
    ended = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL))
    return [trial for trial in ended if trial.state != TrialState.FAIL or FAILED in trial.user_attrs]


def _describe(trial: FrozenTrial, metric: str) -> str:
    """One line: the trial's result and its values."""
    if trial.state == TrialState.FAIL:
        result = f"failed: {trial.user_attrs[FAILED]}" if FAILED in trial.user_attrs else "interrupted"
    elif trial.state == TrialState.COMPLETE and trial.value is not None:
        result = f"{metric} {trial.value:.2f}"
    else:
        result = trial.state.name.lower()
    values = (
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in trial.params.items()
    )
    return f"trial {trial.number}: {result}  {'  '.join(values)}"


@contextmanager
def _ended_by_signal(commands: CommandRunner) -> Iterator[None]:
    """A termination signal ends the trainings first, and with them the threads that watch the trainings."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread handles signals
        yield
        return

    def end(number: int, frame: object) -> None:
        commands.stop()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def open_study(space_file: Path, space: Space, output: Path, seed: int) -> optuna.Study:
    """The study in the output directory, or a new one. Interrupted trials are tried first.

    Raises:
        NmtError: the directory holds a study of another space, or its journal is damaged.
    """
    study = _read_study(output / "study.log", space)
    described = json.loads(json.dumps(dataclasses.asdict(space)))
    if study.user_attrs.get("space", described) != described:
        raise NmtError(
            f"{output} holds a search of another space, and its results do not compare with {space_file}: "
            "choose another --output, or undo the change of the space"
        )
    study.set_user_attr("space", described)
    # The seed depends on the number of trials, or each call would begin with the same values.
    study.sampler = optuna.samplers.TPESampler(seed=(seed + len(study.trials)) % 2**32)
    _enqueue_interrupted(study)
    return study


def _read_study(path: Path, space: Space) -> optuna.Study:
    """The study of a journal.

    Raises:
        NmtError: the journal is damaged. optuna believes its own lines, and fails in many ways on other ones.
    """
    journal = open_journal(path)
    try:
        study = optuna.create_study(
            study_name="nmt",
            storage=JournalStorage(journal),
            direction="maximize" if space.metric == "bleu" else "minimize",
            pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=1),
            load_if_exists=True,
        )
        study.get_trials()
        return study
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, AssertionError, OptunaError) as error:
        raise NmtError(
            f"{path}: damaged ({type(error).__name__}): restore the file, or choose another --output"
        ) from error


def _enqueue_interrupted(study: optuna.Study) -> None:
    """Tries the values of interrupted trials again, each once."""
    for trial in study.get_trials(states=(TrialState.RUNNING,)):  # left by a process that was killed
        study.tell(trial.number, state=TrialState.FAIL)
    # A waiting trial has no parameters yet: its values are attributes of optuna's own.
    waiting = [trial.system_attrs.get("fixed_params") for trial in study.get_trials(states=(TrialState.WAITING,))]
    known = [*(trial.params for trial in _finished(study)), *waiting]
    for trial in study.get_trials(states=(TrialState.FAIL,)):
        if trial.params and trial.params not in known:
            study.enqueue_trial(trial.params)
            known.append(trial.params)
