"""Trains and measures every run of a comparison by the commands `nmt train` and `nmt evaluate`, several at once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import cast

from nmt.config import Precision
from nmt.files.atomic_writing import write_atomically
from nmt.progress import StatusLine, counted, duration
from nmt.training.comparison.outcomes import Outcome, Paths, measure_outcome, saved_outcome
from nmt.training.comparison.plan import ComparisonError, ComparisonPlan, TestSet, VariantRun, fields_to_train
from nmt.training.processes import CommandRunner, shared_cores


def run_variants(plan: ComparisonPlan, output: Path, jobs: int = 1) -> list[str]:
    """Trains and measures the runs that have no outcome yet. Each outcome is saved at once, so a second call continues.

    A run that fails does not stop the others, unless every run before it failed too.

    Args:
        plan: see `plan.read_plan`.
        output: directory of the comparison.
        jobs: the number of trainings at once, which share the cores.

    Returns:
        One line for each run that failed.

    Raises:
        ComparisonError: every run so far failed. Runs under way continue to their end; no further run starts.
    """
    todo = [run for run in plan.runs if saved_outcome(run, plan, output) is None]
    status = StatusLine()
    done_before, failed = len(plan.runs) - len(todo), []
    before = f", {done_before} of them done already" if done_before else ""
    status.print(f"{counted(len(plan.runs), 'training')}{before}; their logs are in {output}/logs")
    with _at_once(todo, plan, output, jobs) as running:
        for done, future in enumerate(as_completed(running), start=1):
            left = f"about {duration(status.seconds / done * (len(todo) - done))} left"
            try:
                outcome = future.result()
            except ComparisonError as error:
                failed.append(str(error))
                if len(failed) == done_before + done:
                    raise
                status.print(f"{done}/{len(todo)} {error}; the others go on, {left}")
            else:
                status.print(f"{done}/{len(todo)} {_described(outcome)}; {left}")
    return failed


@contextmanager
def _at_once(todo: list[VariantRun], plan: ComparisonPlan, output: Path, jobs: int) -> Iterator[list[Future[Outcome]]]:
    """Runs in `jobs` threads; an error in the block starts no further run, and an interrupt ends those under way."""
    commands = CommandRunner(shared_cores(jobs))
    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield [pool.submit(_train_and_measure, run, plan, output, jobs, commands) for run in todo]
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):  # a signal to end reaches this process alone, not the commands
                commands.stop()
            raise


def _described(outcome: Outcome) -> str:
    aer = "" if outcome.aer is None else f", AER {outcome.aer:.3f}"
    return (
        f"{outcome.variant}, seed {outcome.seed}: BLEU {outcome.bleu:.2f}{aer}, {outcome.tokens_per_second:,} tokens/s"
    )


def _train_and_measure(
    run: VariantRun, plan: ComparisonPlan, output: Path, jobs: int, commands: CommandRunner
) -> Outcome:
    paths, test = Paths.of(output, run.name), plan.test
    write_atomically(paths.config, json.dumps(fields_to_train(run), indent=1).encode())
    for path in (paths.log, paths.scores, paths.translation):
        path.parent.mkdir(parents=True, exist_ok=True)
    evaluation = ["evaluate", "--model", run.directory, *pair_flags(test)]
    evaluation += ["--tokenize", test.tokenizer, "--output", paths.translation, "--json", paths.scores]
    evaluation += ["--gold", test.alignment, "--aligner", "none"] if test.alignment else []
    with open(paths.log, "a", encoding="utf-8") as log:
        for command in (["train", "--config", paths.config], evaluation):
            if code := commands.run(command, log):
                reason = _last_line(paths.log)
                raise ComparisonError(f"{run.name}: nmt {command[0]} ended with {code}, see {paths.log}: {reason}")
    return measure_outcome(run, test, paths, jobs)


def pair_flags(test: TestSet) -> list[str]:
    """The flags that name the test set."""
    if not test.tsv:
        return ["--source", test.source, "--target", test.target]
    return ["--tsv", test.tsv, "--source-column", str(test.source_column), "--target-column", str(test.target_column)]


def _last_line(path: Path) -> str:
    """The last line of a failed command's log, which is its error message."""
    *_, last = ["", *path.read_text(encoding="utf-8", errors="replace").splitlines()]
    return last.removeprefix("nmt: error: ")


def settle_precision(plan: ComparisonPlan, output: Path) -> ComparisonPlan:
    """The plan with one precision for all runs whose precision is `auto`.

    The precision is decided for this machine when the comparison begins, and kept in `output`. If each run decided for
    itself, it would measure a machine that the other runs keep busy, and could decide otherwise.
    """
    if not any(map(_is_auto, plan.runs)):
        return plan
    kept = output / "precision"
    if not kept.exists():
        # In a process of its own, so that this long-lived process never loads TensorFlow or takes GPU memory.
        with ProcessPoolExecutor(1, get_context("spawn"), silence_standard_error) as pool:
            write_atomically(kept, pool.submit(machine_precision).result().encode())
    precision = cast(Precision, kept.read_text(encoding="utf-8"))
    return replace(plan, runs=tuple(_with_precision(run, precision) if _is_auto(run) else run for run in plan.runs))


def silence_standard_error() -> None:
    """Drops TensorFlow's start-up messages; errors of this process reach its parent as exceptions."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def machine_precision() -> Precision:
    """The fastest precision of this machine; loads the backend."""
    from nmt.backend.precision import decide_precision

    return decide_precision("auto")


def _is_auto(run: VariantRun) -> bool:
    return run.config.training.precision == "auto"


def _with_precision(run: VariantRun, precision: Precision) -> VariantRun:
    return replace(run, config=replace(run.config, training=replace(run.config.training, precision=precision)))
