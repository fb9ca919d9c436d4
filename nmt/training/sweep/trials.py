"""One trial of a sweep: `nmt train` in a process of its own, watched at every validation."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import time
from pathlib import Path

import optuna

from nmt.config import ConfigError
from nmt.errors import NmtError
from nmt.files.atomic_writing import write_atomically
from nmt.files.locking import locked
from nmt.progress import counted
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.history import history_numbers
from nmt.training.processes import CommandRunner
from nmt.training.sweep.space import Space

POLL_SECONDS = 1.0
"""Time between two looks at a trial's history."""

FAILED = "failed"
"""Attribute of a trial whose training failed: the message. Its values are not tried again."""

_INTERRUPTED = 130, -signal.SIGINT, -signal.SIGTERM
"""Exit codes of an interrupted training, which can continue."""


class TrialError(NmtError):
    """A trial has no result. The search goes on without it."""


def run_trial(trial: optuna.Trial, space: Space, output: Path, commands: CommandRunner) -> float:
    """Trains the values that optuna suggests, and returns the best value of the metric.

    The run is named after its values, so an interrupted trial continues when the same values are suggested again.

    Args:
        trial: suggests the values.
        space: the fields that vary.
        output: directory of the sweep.
        commands: starts the training.

    Raises:
        TrialPruned: the trial falls behind the median of the others at the same validation, its values contradict each
            other, or another trial is training them.
        TrialError: training was interrupted, or it failed, as the trial's attribute then says.
        NmtError: the sweep is ending.
    """
    values = space.suggest(trial)
    name = "run-" + hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:10]
    trial.set_user_attr("run", name)
    try:
        fields = space.fields(values, name, str(output / "runs"))
    except ConfigError as error:
        trial.set_user_attr("refused", str(error))
        raise optuna.TrialPruned(str(error)) from None
    config, log = output / "configs" / f"{name}.json", output / "logs" / f"{name}.log"
    write_atomically(config, json.dumps(fields, indent=1).encode())
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        open(log, "a", encoding="utf-8") as file,
        locked(log, optuna.TrialPruned("another trial has these values")),
        commands.started(["train", "--config", config], file) as process,
    ):
        if process is None:
            raise NmtError(f"{name}: not started, because the sweep is ending")
        pruned_after = _watch(process, trial, space.metric, output / "runs" / name)
    if pruned_after:
        raise optuna.TrialPruned(f"behind the others after {counted(pruned_after, 'validation')}")
    if process.returncode in _INTERRUPTED:
        raise TrialError(f"{name}: interrupted")
    if process.returncode:
        raise _failure(trial, f"{name}: nmt train ended with {process.returncode}, see {log}")
    measured = _validations(output / "runs" / name, space.metric)
    if not measured:
        lacking = f"history.csv has no number in validation_{space.metric}"
        raise _failure(trial, f"{output / 'runs' / name}: {lacking}: see {log}")
    return max(measured) if space.metric == "bleu" else min(measured)


def _failure(trial: optuna.Trial, message: str) -> TrialError:
    trial.set_user_attr(FAILED, message)
    return TrialError(message)


def _watch(process: subprocess.Popen[bytes], trial: optuna.Trial, metric: str, run: Path) -> int:
    """Reports each validation to optuna until training ends.

    Returns:
        The number of validations after which optuna prunes the trial; 0: training ended.
    """
    reported = 0
    while True:
        ended = process.poll() is not None
        for value in _validations(run, metric)[reported:]:
            reported += 1
            trial.report(value, reported)
            if not ended and trial.should_prune():
                return reported
        if ended:
            return 0
        time.sleep(POLL_SECONDS)


def _validations(run: Path, metric: str) -> list[float]:
    """The metric at each validation, oldest first; empty while the run is being prepared."""
    try:
        rows = Run.open(run).read_history()
    except RunError:
        return []
    return [value for row in rows for value in history_numbers(row, f"validation_{metric}") or ()]
