"""history.png and run.html of a run in training, drawn anew at each validation. Drawing never ends a training."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from nmt.config import RunConfig, config_to_dict
from nmt.drawing import save_figure
from nmt.drawing.page import PageSentence
from nmt.drawing.training_view import TrainingPage, charts_of, draw_history, measure_title, training_page
from nmt.files.atomic_writing import write_atomically
from nmt.progress import duration
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.samples import SAMPLES, Sample, read_samples, thinned, write_samples
from nmt.training.early_stopping import is_better, measure_of
from nmt.training.preparation.corpus_files import REPORT
from nmt.training.preparation.prepare import Prepared
from nmt.training.state import TrainingState
from nmt.translation.result import Translation

PICTURE, PAGE = "history.png", "run.html"
MOST_STEPS = 12
"""Steps whose sample translations are kept, so that file and page stay small."""

Stage = Literal["training", "interrupted", "ended"]
"""Whether a training goes on."""

ROUNDING = 1e-4
"""The precision of the values in history.csv."""


class LiveView:
    """The drawings of a run in training. The first failure is reported; each validation tries again.

    Args:
        run: the run in training.
        step: the step that the run resumes from; later samples are dropped, because their steps are trained again.
        facts: facts on the run that do not change, such as its number of pairs, by name.
        say: takes lines for the user.
    """

    def __init__(self, run: Run, step: int, facts: Mapping[str, str], say: Callable[[str], None]) -> None:
        self._run, self._facts, self._say = run, facts, say
        self._samples = [sample for sample in self._saved_samples() if sample.step <= step] if step else []
        self._failed = False

    def _saved_samples(self) -> list[Sample]:
        """The samples of earlier sessions; none if the file is damaged, which is reported."""
        try:
            return read_samples(self._run.directory / SAMPLES)
        except RunError as error:
            self._say(str(error))
            return []

    def show(
        self,
        rows: Sequence[Mapping[str, Any]],
        state: TrainingState,
        sample: Callable[[], Iterable[tuple[int, str, Translation]]],
        stage: Stage,
    ) -> None:
        """Draws the run as it is now.

        Args:
            rows: the rows of history.csv, the newest for this step.
            state: how far the training is.
            sample: translates some validation pairs: number, reference and translation of each.
            stage: of the training.
        """
        try:
            self._add_samples(state.step, sample)
            self._draw(rows, state, stage)
        except Exception as error:  # whatever goes wrong in a picture, the training goes on
            if not self._failed:
                self._failed = True
                place = f"{self._run.directory / PICTURE} and {PAGE}"
                reason = " ".join(str(error).split()) or type(error).__name__
                self._say(f"{place} could not be drawn: {reason}; training goes on without them")

    def _add_samples(self, step: int, sample: Callable[[], Iterable[tuple[int, str, Translation]]]) -> None:
        if any(earlier.step == step for earlier in self._samples):
            return
        new = [
            Sample(step, number, reference, one.text, round(one.log_probability, 4), one.alignment)
            for number, reference, one in sample()
        ]
        self._samples = thinned([*self._samples, *new], MOST_STEPS)
        write_samples(self._run.directory / SAMPLES, self._samples)

    def _draw(self, rows: Sequence[Mapping[str, Any]], state: TrainingState, stage: Stage) -> None:
        run, charts = self._run, charts_of(rows)
        best = best_row(rows, run.config.training.metric, state.best)
        step = None if best is None else int(best["step"])
        if charts:
            save_figure(draw_history(charts, run.config.name, step), run.directory / PICTURE)
        page = TrainingPage(
            title=run.config.name,
            facts=_progress(state, run.config, best, stage) | dict(self._facts),
            charts=charts,
            best=step,
            samples=page_sentences(self._samples, tuple(map(str, run.languages))),
            report=_report(run.directory),
            settings=json.dumps(config_to_dict(run.config), indent=2, ensure_ascii=False),
        )
        write_atomically(run.directory / PAGE, training_page(page).encode())


def run_facts(prepared: Prepared, parameters: int) -> dict[str, str]:
    """Facts on a run that its training does not change, by name."""
    run = prepared.run
    sizes = [run.source.size] if run.config.vocabulary.shared else [run.source.size, run.target.size]
    return {
        "pairs": f"{len(prepared.train):,} training, {len(prepared.validation):,} validation",
        "parameters": f"{parameters:,}",
        "pieces": ", ".join(f"{size:,}" for size in sizes),
        "languages": " → ".join(map(str, run.languages)),
        "precision": run.config.training.precision,
    }


def best_row(rows: Sequence[Mapping[str, Any]], metric: str, value: float | None) -> Mapping[str, Any] | None:
    """The row of the best weights, by the rule of `is_better`; rows that lack a value do not count.

    Args:
        rows: the rows of history.csv.
        metric: `training.metric`.
        value: its best value in the training. Runs of older versions have no row for the weights of their initial run.
    """
    state, best, measure = TrainingState(), None, measure_of(metric)
    for row in rows:
        try:
            measured = {name: float(row[f"validation_{name}"]) for name in {"loss", measure}}
        except (KeyError, ValueError, TypeError):
            continue
        if is_better(measured, state, metric):
            best, state.best, state.best_loss = row, measured[measure], measured["loss"]
    if best is None or value is None or abs(float(best[f"validation_{measure}"]) - value) > ROUNDING:
        return None
    return best


def page_sentences(samples: Sequence[Sample], languages: tuple[str, ...]) -> list[PageSentence]:
    """The samples of each sentence as one entry of the page, the newest translation first."""
    by_sentence: dict[int, list[Sample]] = {}
    for sample in samples:
        by_sentence.setdefault(sample.sentence, []).append(sample)
    found = []
    for number, of_sentence in by_sentence.items():
        newest = of_sentence[-1]
        same = [one for one in reversed(of_sentence) if one.alignment.source == newest.alignment.source]
        found.append(
            PageSentence(
                same,
                f"validation pair {number + 1}",
                languages=(languages[0], languages[1]),
                headings=[_heading(one) for one in same],
                note=f"reference: {newest.reference}",
            )
        )
    return found


def _heading(sample: Sample) -> str:
    log_probability = f"{sample.log_probability:.2f}".replace("-", "\N{MINUS SIGN}")
    return f"step {sample.step:,}, log-probability {log_probability}"


def _progress(state: TrainingState, config: RunConfig, best: Mapping[str, Any] | None, stage: Stage) -> dict[str, str]:
    metric, measure = config.training.metric, measure_of(config.training.metric)
    epochs = f"epoch {min(state.pass_index + 1, config.training.passes)} of {config.training.passes}"
    facts = {
        "state": {"training": epochs, "interrupted": f"{epochs}, interrupted", "ended": "ended"}[stage],
        "steps": f"{state.step:,}",
        "training time": duration(state.seconds),
    }
    if best is not None:
        which = "last" if metric == "last" else "best"
        facts[f"{which} {measure_title(measure)}"] = (
            f"{float(best[f'validation_{measure}']):.2f} at step {int(best['step']):,}"
        )
    return facts


def _report(directory: Path) -> list[str]:
    """Lines on the training text, from its preparation; none for older runs."""
    try:
        return (directory / REPORT).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
