"""The measured outcome of each variant's run, kept as a file, so that a comparison can continue later."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmt.config import Precision
from nmt.files.atomic_writing import write_atomically
from nmt.files.digests import digest_file
from nmt.run.directory import HISTORY, Run
from nmt.run.history import history_numbers
from nmt.run.resuming import differing_settings, with_saved_values
from nmt.run.text_changes import text_changed
from nmt.text.lines import read_lines
from nmt.training.comparison.plan import ComparisonError, ComparisonPlan, TestSet, VariantRun, fields_of

_MAY_DIFFER = ("name", "directory", "training.log_every", "training.live_view")
"""Fields that may change between two calls, because no outcome depends on them."""


@dataclass(frozen=True)
class Outcome:
    """The measurements of one variant's run."""

    variant: str
    seed: int
    bleu: float
    """BLEU of the test set, 0 to 100."""
    chrf: float
    aer: float | None
    """Alignment error rate of the test set's pairs, 0 to 1; None without a gold alignment."""
    tokens_per_second: int
    """Target tokens per second of training."""
    seconds: float
    """Time spent in training steps."""
    steps: int
    peak_memory_mib: int
    parameters: int
    precision: Precision
    jobs: int
    """The number of trainings at once."""


class Paths(NamedTuple):
    """The files of one variant's run."""

    config: Path
    log: Path
    scores: Path
    translation: Path
    outcome: Path

    @classmethod
    def of(cls, output: Path, name: str) -> Paths:
        """The files of the run `name` below the directory of the comparison."""
        return cls(
            config=output / "configs" / f"{name}.json",
            log=output / "logs" / f"{name}.log",
            scores=output / "scores" / f"{name}.json",
            translation=output / "translations" / f"{name}.txt",
            outcome=output / "outcomes" / f"{name}.json",
        )


class Measured(NamedTuple):
    """A run that is trained and measured."""

    run: VariantRun
    outcome: Outcome
    translations: list[str]
    """The test set's translations, one for each line."""


def read_outcomes(plan: ComparisonPlan, output: Path) -> Iterator[Measured]:
    """The runs that are measured, in the order of the plan.

    Raises:
        ComparisonError: a run was measured with other settings or on another test set.
    """
    for run in plan.runs:
        outcome = saved_outcome(run, plan, output)
        if outcome is not None:
            yield Measured(run, outcome, [*read_lines(str(Paths.of(output, run.name).translation))])


def saved_outcome(run: VariantRun, plan: ComparisonPlan, output: Path) -> Outcome | None:
    """The saved measurements of a run; None where it was not measured.

    Raises:
        ComparisonError: the run has other settings, other training text or another test set than before, or a file is
            damaged.
    """
    paths = Paths.of(output, run.name)
    if not paths.outcome.exists():
        return None
    advice = f"delete {paths.outcome} to measure it again (and its run to train it again), or choose another --output"
    values = _read_json(paths.outcome, advice)
    if values.pop("test", None) not in (None, _fingerprint(plan.test)):
        raise ComparisonError(f"{run.name} was measured on another test set: {advice}")
    if text_changed(run.directory, run.config):
        raise ComparisonError(f"{run.name} was trained on other text than its files hold now: {advice}")
    settings = values.pop("settings", None)  # an older nmt has them in the configuration alone
    trained_with = settings or (_read_json(paths.config, advice) if paths.config.exists() else {})
    settled = run.given.get("training", {}).get("precision", "auto") == "auto"
    for name, old, new in differing_settings(trained_with, with_saved_values(trained_with, fields_of(run))):
        if name not in _MAY_DIFFER and not (settled and name == "training.precision"):
            raise ComparisonError(f"{run.name} was trained with {name} = {old!r}, now it is {new!r}: {advice}")
    try:
        return Outcome(**values)
    except TypeError:
        raise ComparisonError(f"{paths.outcome} is damaged: {advice}") from None


def measure_outcome(run: VariantRun, test: TestSet, paths: Paths, jobs: int) -> Outcome:
    """Collects the measurements of a run that `nmt train` and `nmt evaluate` have finished, and saves them."""
    trained = Run.open(run.directory)
    rows = trained.read_history()
    last = history_numbers(rows[-1], "tokens_per_second", "seconds", "step", "peak_memory_mib") if rows else None
    if last is None or not all(map(math.isfinite, last)):
        raise ComparisonError(
            f"{run.directory / HISTORY}: the last row lacks speed, time or memory: delete {run.directory} to train the "
            "variant again"
        )
    tokens_per_second, seconds, steps, peak_memory = last
    scores = json.loads(paths.scores.read_text(encoding="utf-8"))
    alignment = scores.get("alignment")
    outcome = Outcome(
        variant=run.variant,
        seed=run.seed,
        bleu=scores["bleu"]["value"],
        chrf=scores["chrf"]["value"],
        aer=None if alignment is None else alignment["aer"],
        tokens_per_second=int(tokens_per_second),
        seconds=seconds,
        steps=int(steps),
        peak_memory_mib=int(peak_memory),
        parameters=int(sum(np.size(array) for array in trained.weights().values())),
        precision=trained.config.training.precision,
        jobs=jobs,
    )
    saved = {"test": _fingerprint(test), **asdict(outcome), "settings": fields_of(run)}
    write_atomically(paths.outcome, (json.dumps(saved, indent=1) + "\n").encode())
    return outcome


def _fingerprint(test: TestSet) -> str:
    """A digest of the test set's text and tokenizer."""
    files = [digest_file(path) for path in (*test.files, test.alignment) if path]
    columns = [test.source_column, test.target_column] if test.tsv else []
    return hashlib.sha256(json.dumps([*files, *columns, test.tokenizer]).encode()).hexdigest()


def _read_json(path: Path, advice: str) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise ComparisonError(f"{path} is damaged: {advice}")
    return values
