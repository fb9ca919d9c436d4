"""The report of a comparison: Markdown with tables, CSV, BLEU by sentence length, one sentence's attention by all."""

from __future__ import annotations

import csv
import io
import json
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nmt.alignment.links import Gold
from nmt.alignment.pharaoh_and_naacl import read_gold
from nmt.evaluation.bleu_and_chrf import bleu
from nmt.files.atomic_writing import write_atomically
from nmt.text.lines import read_lines
from nmt.training.comparison import figures
from nmt.training.comparison.outcomes import Outcome, read_outcomes
from nmt.training.comparison.plan import ComparisonError, ComparisonPlan
from nmt.version import __version__

Outcomes = dict[str, list[Outcome]]
"""Of each variant, those of its seeds."""

BUCKET = 5
"""Words by which source sentences are put together in BLEU by length."""

LEAST = 20
"""Sentences that a bucket has at least; what is too small joins the bucket before it."""


def write_report(plan: ComparisonPlan, output: Path, sentence: int = 0) -> Path:
    """Writes report.md, outcomes.csv, by_length.png and attention.png from what has been measured so far.

    Args:
        plan: see `plan.read_plan`.
        output: directory of the comparison.
        sentence: line of the test set whose attention is drawn, from 1; 0: the first of eight words or more.

    Returns:
        The report's place.

    Raises:
        ComparisonError: nothing has been measured, or there is no such line.
    """
    done = list(read_outcomes(plan, output))
    if not done:
        raise ComparisonError(f"{output}: no training is done yet: there is nothing to report")
    outcomes: Outcomes = {}
    for run, outcome, _ in done:
        outcomes.setdefault(run.variant, []).append(outcome)
    write_atomically(output / "outcomes.csv", _csv([outcome for _, outcome, _ in done]).encode())
    sources, references = list(read_lines(plan.test.source)), list(read_lines(plan.test.target))
    buckets = length_buckets([len(source.split()) for source in sources])
    curves: dict[str, list[list[float]]] = {}
    for run, _, texts in done:
        values = [
            bleu([texts[i] for i in rows], [references[i] for i in rows], plan.test.tokenize).value
            for _, rows in buckets
        ]
        curves.setdefault(run.variant, []).append(values)
    labels = [label for label, _ in buckets]
    figures.save_curves(labels, curves, output / "by_length.png")
    drawn = line_to_draw(sentence, sources)
    attention = figures.save_attention(
        [run for run, _, _ in done if run.seed == 1],
        sources[drawn],
        references[drawn],
        output / "attention.png",
        _gold(plan, drawn),
    )
    place = output / "report.md"
    write_atomically(
        place, "\n".join(_markdown(plan, outcomes, buckets, curves, drawn if attention else None)).encode()
    )
    return place


def length_buckets(lengths: Sequence[int]) -> list[tuple[str, list[int]]]:
    """Sentences by their length in words: labels such as 6-10, and the sentences of each."""
    found: list[tuple[int, int, list[int]]] = []
    for low in range(1, max(lengths, default=0) + 1, BUCKET):
        high = low + BUCKET - 1
        rows = [i for i, length in enumerate(lengths) if low <= length <= high]
        if found and (len(rows) < LEAST or len(found[-1][2]) < LEAST):
            first, _, before = found.pop()
            found.append((first, high, before + rows))
        elif rows:
            found.append((low, high, rows))
    return [(f"{low}-{high}", rows) for low, high, rows in found]


def line_to_draw(sentence: int, sources: Sequence[str]) -> int:
    """The line, from 0, whose attention is drawn: the one of this number from 1, or of no small length where it is 0.

    Raises:
        ComparisonError: there are not so many.
    """
    if sentence:
        if sentence > len(sources):
            raise ComparisonError(f"--sentence {sentence}: the test set has {len(sources)} lines")
        return sentence - 1
    return next((i for i, source in enumerate(sources) if len(source.split()) >= 8), 0)


def _gold(plan: ComparisonPlan, line: int) -> Gold | None:
    """The gold links of a line of the test set, counted from 0."""
    if not plan.test.alignment:
        return None
    return read_gold(list(read_lines(plan.test.alignment)), plan.test.alignment)[line]


def _csv(outcomes: Sequence[Outcome]) -> str:
    text = io.StringIO()
    rows = [asdict(outcome) for outcome in outcomes]
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _markdown(
    plan: ComparisonPlan,
    outcomes: Outcomes,
    buckets: Sequence[tuple[str, list[int]]],
    curves: dict[str, list[list[float]]],
    drawn: int | None,
) -> list[str]:
    """Lines of the report; `drawn` is the line of the test set, from 0, whose attention is drawn, if one's is."""
    first = next(iter(outcomes))
    lines = ["# Comparison", "", plan.about, "", _about(outcomes), ""]
    lines += [
        f"The last two columns say by how much a variant differs from {first}: its mean less {first}'s; (=) where the "
        "ranges of their seeds overlap, so that nothing is shown, (?) where there is one seed alone.",
        "",
        *_table(outcomes, first),
        "",
        "| variant | what it changes |",
        "| --- | --- |",
        *(f"| {name} | `{json.dumps(plan.changes[name])}` |" for name in outcomes),
        "",
        "## BLEU by length",
        "",
        "Source sentences by their number of words; means over the seeds.",
        "",
        "| variant | " + " | ".join(f"{label} ({len(rows)})" for label, rows in buckets) + " |",
        "| --- |" + " ---: |" * len(buckets),
        *(
            f"| {name} | " + " | ".join(f"{statistics.mean(values):.1f}" for values in zip(*runs, strict=True)) + " |"
            for name, runs in curves.items()
        ),
        "",
        "![BLEU by length](by_length.png)",
        "",
    ]
    if drawn is None:
        return lines
    return [
        *lines,
        "## One sentence's attention",
        "",
        f"Line {drawn + 1} of the test set with its reference, seed 1; lines: target words, columns: source words"
        f"{', gold links outlined' if plan.test.alignment else ''}.",
        "",
        "![Attention of every variant](attention.png)",
        "",
    ]


def _about(outcomes: Outcomes) -> str:
    every = [outcome for found in outcomes.values() for outcome in found]
    jobs = ", ".join(map(str, sorted({outcome.jobs for outcome in every})))
    precisions = ", ".join(sorted({outcome.precision for outcome in every}))
    return (
        f"{len(every)} trainings, {jobs} at once; {precisions}; nmt {__version__}, Python "
        f"{platform.python_version()}, {platform.machine()}, {time.strftime('%Y-%m-%d')}. BLEU and chrF of the test "
        "set by the search of the configuration; AER of its pairs; tokens: target tokens a second in training."
    )


def _table(outcomes: Outcomes, first: str) -> list[str]:
    columns: list[tuple[str, Callable[[Outcome], float | None], str]] = [
        ("BLEU", lambda o: o.bleu, "{:.2f}"),
        ("chrF", lambda o: o.chrf, "{:.2f}"),
        ("AER", lambda o: o.aer, "{:.3f}"),
        ("tokens/s", lambda o: o.tokens_per_second, "{:,.0f}"),
        ("MiB", lambda o: o.peak_memory_mib, "{:,.0f}"),
    ]
    head = ["variant", "seeds", "parameters", *(name for name, *_ in columns), "BLEU against", "AER against"]
    rows = []
    for name, found in outcomes.items():
        cells = [name, str(len(found)), f"{found[0].parameters:,}"]
        cells += [spread([value(outcome) for outcome in found], form) for _, value, form in columns]
        cells += [
            "" if name == first else difference([value(o) for o in found], [value(o) for o in outcomes[first]], form)
            for _, value, form in (columns[0], columns[2])
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1), *rows]


def spread(values: Sequence[float | None], form: str) -> str:
    """Mean and range of the seeds: 37.1 (36.8 to 37.3); a dash where nothing was measured."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    middle = form.format(statistics.mean(known))
    if len(known) == 1:
        return middle
    return f"{middle} ({form.format(min(known))} to {form.format(max(known))})"


def difference(values: Sequence[Any], others: Sequence[Any], form: str) -> str:
    """How far the means of two variants' seeds are apart, and whether their ranges are, see `_markdown`."""
    if None in values or None in others:
        return "-"
    apart = max(values) < min(others) or max(others) < min(values)
    text = form.replace("{:", "{:+").format(statistics.mean(values) - statistics.mean(others))
    if len(values) == 1 or len(others) == 1:
        return f"{text} (?)"
    return text if apart else f"{text} (=)"
