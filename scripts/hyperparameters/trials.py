"""One trial: `nmt train` in a process of its own, watched validation by validation."""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from pathlib import Path

import optuna

from hyperparameters.space import Space
from nmt.config import ConfigError
from nmt.errors import NmtError
from nmt.files.atomic_writing import write_atomically
from nmt.files.locking import locked
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.training.processes import CommandRunner

LOOK = 1.0
"""Seconds between two looks at how a trial goes."""


def run_trial(trial: optuna.Trial, space: Space, output: Path, commands: CommandRunner) -> float:
    """Trains one set of values; the best value of the metric.

    The run is named after its values, so a trial that was interrupted goes on when the same values come again.

    Args:
        trial: asks for values.
        space: what may vary.
        output: directory of the search.
        commands: what begins the training.

    Raises:
        TrialPruned: it did worse than the middle of the others at the same validation, or the values contradict each
            other, or are being tried already.
        NmtError: training failed.
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
            raise NmtError(f"{name}: is not started, because the search is to end")
        pruned = _watch(process, trial, space.metric, output / "runs" / name)
    if pruned:
        raise optuna.TrialPruned(f"behind the others after {trial.last_step} validations")
    if process.returncode:
        raise NmtError(f"{name}: nmt train ended with {process.returncode}, see {log}")
    measured = _measured(output / "runs" / name, space.metric)
    return max(measured) if space.metric == "bleu" else min(measured)


def _watch(process: subprocess.Popen[bytes], trial: optuna.Trial, metric: str, run: Path) -> bool:
    """Reports validations until training ends; True where it is to end because it is behind."""
    seen = 0
    while True:
        ended = process.poll() is not None
        for value in _measured(run, metric)[seen:]:
            seen += 1
            trial.report(value, seen)
            if not ended and trial.should_prune():
                return True
        if ended:
            return False
        time.sleep(LOOK)


def _measured(run: Path, metric: str) -> list[float]:
    try:
        return [float(row[f"validation_{metric}"]) for row in Run.open(run).read_history()]
    except RunError:  # still being prepared
        return []
