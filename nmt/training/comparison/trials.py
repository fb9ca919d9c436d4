"""Trials: each is trained and measured by the commands that a user runs, in processes of their own."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np

from nmt.config import Precision
from nmt.files.atomic_writing import write_atomically
from nmt.files.digests import digest_file
from nmt.progress import StatusLine, duration
from nmt.run.directory import Run
from nmt.run.resuming import differing_settings, text_changed
from nmt.training.comparison.plan import ComparisonError, Plan, TestSet, Trial, fields_of


@dataclass(frozen=True)
class Outcome:
    """What was measured of one trial."""

    variant: str
    seed: int
    bleu: float
    """Of the test set, 0 to 100."""
    chrf: float
    aer: float | None
    """Of the test set's pairs, 0 to 1; None where there is no gold alignment."""
    tokens_per_second: int
    """Target tokens, in training."""
    seconds: float
    """Spent in training steps."""
    steps: int
    peak_memory_mib: int
    parameters: int
    precision: Precision
    jobs: int
    """Trials that ran at once."""


def run_trials(plan: Plan, output: Path, jobs: int = 1) -> list[str]:
    """Runs what has not been run yet; each outcome is written when it is known, so a second call goes on.

    A trial that fails does not stop the others, unless none has succeeded before it: then all would.

    Args:
        plan: see `plan.read_plan`.
        output: directory of the comparison.
        jobs: trials at once, which share the cores between them.

    Returns:
        Of the trials that failed what happened, a line each.

    Raises:
        ComparisonError: the first trial failed; those that had begun go on to their end, the others do not begin.
    """
    todo = [trial for trial in plan.trials if _saved_outcome(trial, plan, output) is None]
    ticker = StatusLine()
    done_before, failed = len(plan.trials) - len(todo), []
    before = f", {done_before} of them done already" if done_before else ""
    ticker.print(f"{len(plan.trials)} trainings{before}; how they go is in {output}/logs")
    commands = Commands(shared_cores(jobs))
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(_run, trial, plan, output, jobs, commands) for trial in todo]
        try:
            for done, future in enumerate(as_completed(waiting), start=1):
                left = ticker.seconds / done * (len(todo) - done)
                try:
                    outcome = future.result()
                except ComparisonError as error:
                    failed.append(str(error))
                    if len(failed) == done_before + done:
                        raise
                    ticker.print(f"{done}/{len(todo)} {error}; the others go on, about {duration(left)} left")
                    continue
                aer = "" if outcome.aer is None else f", AER {outcome.aer:.3f}"
                ticker.print(
                    f"{done}/{len(todo)} {outcome.variant}, seed {outcome.seed}: BLEU {outcome.bleu:.2f}{aer}, "
                    f"{outcome.tokens_per_second:,} tokens/s; about {duration(left)} left"
                )
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):  # or a signal to end, which reaches this process alone
                commands.end()
            raise
    return failed


def settle_precision(plan: Plan, output: Path) -> Plan:
    """The plan with one precision for all trials that leave it to the machine: what paid when the comparison began,
    which is kept in `output`. Each for itself would try a machine that the others keep busy, and may find another one.
    """
    if not any(map(_left_open, plan.trials)):
        return plan
    kept = output / "precision"
    if not kept.exists():
        # In a process of its own: this one waits for many trainings, and has no use for TensorFlow or a GPU's memory.
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            write_atomically(kept, pool.submit(decided).result().encode())
    precision = cast(Precision, kept.read_text(encoding="utf-8"))
    trials = (
        replace(trial, config=replace(trial.config, training=replace(trial.config.training, precision=precision)))
        if _left_open(trial)
        else trial
        for trial in plan.trials
    )
    return replace(plan, trials=tuple(trials))


def decided() -> Precision:
    """What pays on this machine."""
    from nmt.backend.precision import decide_precision

    return decide_precision("auto")


def _left_open(trial: Trial) -> bool:
    return trial.config.training.precision == "auto"


class Commands:
    """`nmt` commands in processes of their own, begun by any thread, which end when this one is to end.

    Args:
        environment: theirs.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._under_way: set[subprocess.Popen[bytes]] = set()
        self._lock, self._ended = threading.Lock(), False

    def run(self, arguments: Sequence[object], log: TextIO) -> int:
        """Waits for a command and returns how it ended; once all are to end, none begins."""
        with self.begun(arguments, log) as process:
            return -signal.SIGTERM if process is None else process.wait()

    @contextmanager
    def begun(self, arguments: Sequence[object], log: TextIO) -> Iterator[subprocess.Popen[bytes] | None]:
        """A command under way, None once all are to end; what is not done when the block is left saves and ends."""
        command = [sys.executable, "-m", "nmt", *map(str, arguments)]
        with self._lock:
            process = None
            if not self._ended:
                process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=self._environment)
                self._under_way.add(process)
        try:
            yield process
        finally:
            if process is not None:
                process.terminate()  # which one that has ended does not notice
                process.wait()
                self._under_way.discard(process)

    def end(self) -> None:
        """Has those that are under way save what they have and end."""
        with self._lock:
            self._ended = True
            for process in [*self._under_way]:
                process.terminate()


def _run(trial: Trial, plan: Plan, output: Path, jobs: int, commands: Commands) -> Outcome:
    """Trains and evaluates by `nmt train` and `nmt evaluate`."""
    config, log = output / "configs" / f"{trial.name}.json", output / "logs" / f"{trial.name}.log"
    write_atomically(config, json.dumps(fields_of(trial), indent=1).encode())
    log.parent.mkdir(parents=True, exist_ok=True)
    run, test = Path(trial.config.directory) / trial.name, plan.test
    scores, translation = output / "scores" / f"{trial.name}.json", _translation(output, trial)
    for place in (scores, translation):
        place.parent.mkdir(parents=True, exist_ok=True)
    evaluation = ["evaluate", "--model", run, "--source", test.source, "--reference", test.target]
    evaluation += ["--tokenize", test.tokenize, "--output", translation, "--json", scores]
    evaluation += ["--gold", test.alignment] if test.alignment else []
    with open(log, "a", encoding="utf-8") as file:
        for command in (["train", "--config", config], evaluation):
            if code := commands.run(command, file):
                raise ComparisonError(f"{trial.name}: nmt {command[0]} ended with {code}, see {log}: {_last_line(log)}")
    outcome = _outcome(trial, run, json.loads(scores.read_text(encoding="utf-8")), jobs)
    saved = {"test": _fingerprint(plan.test), **asdict(outcome)}
    write_atomically(_place(output, trial), (json.dumps(saved, indent=1) + "\n").encode())
    return outcome


def _fingerprint(test: TestSet) -> str:
    """Of the test set's text and of how it is scored."""
    files = [digest_file(path) for path in (test.source, test.target, test.alignment) if path]
    return hashlib.sha256(json.dumps([*files, test.tokenize]).encode()).hexdigest()


def _saved_outcome(trial: Trial, plan: Plan, output: Path) -> Outcome | None:
    """What was measured of a trial before; None where it was not.

    Raises:
        ComparisonError: it was measured with other settings, after other training text, or on another test set; or
            what was kept of it is damaged.
    """
    place, config = _place(output, trial), output / "configs" / f"{trial.name}.json"
    if not place.exists():
        return None
    mend = f"delete {place} to measure it again (and its run to train it again), or choose another --output"
    values = _read(place, mend)
    if values.pop("test", None) not in (None, _fingerprint(plan.test)):
        raise ComparisonError(f"{trial.name} was measured on another test set: {mend}")
    if text_changed(Path(trial.config.directory) / trial.name, trial.config):
        raise ComparisonError(f"{trial.name} was trained on other text than its files hold now: {mend}")
    then = _read(config, mend) if config.exists() else {}
    for name, old, new in differing_settings(then, json.loads(json.dumps(fields_of(trial)))):
        if name not in ("name", "directory", "training.precision", "training.log_every"):
            raise ComparisonError(f"{trial.name} was trained with {name} = {old!r}, now it is {new!r}: {mend}")
    try:
        return Outcome(**values)
    except TypeError:
        raise ComparisonError(f"{place} is damaged: {mend}") from None


def _read(place: Path, mend: str) -> dict[str, Any]:
    try:
        values = json.loads(place.read_text(encoding="utf-8"))
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise ComparisonError(f"{place} is damaged: {mend}")
    return values


def _last_line(path: Path) -> str:
    """What a command that failed has said at its end."""
    *_, last = ["", *path.read_text(encoding="utf-8", errors="replace").splitlines()]
    return last.removeprefix("nmt: error: ")


def shared_cores(jobs: int) -> dict[str, str]:
    """The environment of one of so many trainings at once: a share of the cores for each."""
    if jobs == 1:
        return dict(os.environ)
    threads = str(max(1, (os.cpu_count() or 1) // jobs))
    names = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")
    return {**os.environ, **dict.fromkeys(names, threads)}


def _outcome(trial: Trial, directory: Path, scores: dict[str, Any], jobs: int) -> Outcome:
    run = Run.open(directory)
    last = run.read_history()[-1]
    alignment = scores.get("alignment")
    return Outcome(
        variant=trial.variant,
        seed=trial.seed,
        bleu=scores["bleu"]["value"],
        chrf=scores["chrf"]["value"],
        aer=None if alignment is None else alignment["aer"],
        tokens_per_second=int(last["tokens_per_second"]),
        seconds=float(last["seconds"]),
        steps=int(last["step"]),
        peak_memory_mib=int(last["peak_memory_mib"]),
        parameters=int(sum(np.size(array) for array in run.weights().values())),
        precision=run.config.training.precision,
        jobs=jobs,
    )


def _place(output: Path, trial: Trial) -> Path:
    return output / "outcomes" / f"{trial.name}.json"


def _translation(output: Path, trial: Trial) -> Path:
    return output / "translations" / f"{trial.name}.txt"


def read_outcomes(plan: Plan, output: Path) -> Iterator[tuple[Trial, Outcome, list[str]]]:
    """Of the trials that are done: trial, outcome, and the test set's translations.

    Raises:
        ComparisonError: one was measured with other settings or on another test set.
    """
    for trial in plan.trials:
        outcome = _saved_outcome(trial, plan, output)
        if outcome is not None:
            yield trial, outcome, _translation(output, trial).read_text(encoding="utf-8").splitlines()
