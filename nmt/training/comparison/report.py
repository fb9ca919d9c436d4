"""The report of a comparison: tables, BLEU by sentence length, and the attention of each variant to one sentence."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Sequence
from pathlib import Path

from nmt.alignment.links import Gold
from nmt.alignment.pharaoh_and_naacl import read_gold
from nmt.files.atomic_writing import write_atomically
from nmt.progress import counted
from nmt.progress import report as say
from nmt.text.languages import SPACED, Words, words_of
from nmt.text.lines import read_lines
from nmt.training.comparison.figures import save_attention, save_curves
from nmt.training.comparison.length_buckets import Bucket, bleu_by_bucket, length_buckets
from nmt.training.comparison.outcomes import Outcome, read_outcomes
from nmt.training.comparison.plan import ComparisonError, ComparisonPlan
from nmt.training.comparison.tables import Curves, Outcomes, csv_text, length_table, outcome_table
from nmt.version import __version__

LEAST_WORDS = 8
"""The least length of the sentence whose attention is drawn, unless the user chooses a sentence."""


def write_report(plan: ComparisonPlan, output: Path, sentence: int = 0) -> Path:
    """Writes report.md, outcomes.csv, by_length.png and attention.png from the outcomes so far.

    Args:
        plan: see `plan.read_plan`.
        output: directory of the comparison.
        sentence: line of the test set whose attention is drawn, from 1; 0: the first of `LEAST_WORDS` or more.

    Returns:
        The path of report.md.

    Raises:
        ComparisonError: no outcome exists, or the test set has no such line.
    """
    measured = list(read_outcomes(plan, output))
    if not measured:
        raise ComparisonError(f"{output}: no training is done yet: there is nothing to report")
    write_atomically(output / "outcomes.csv", csv_text([outcome for _, outcome, _ in measured]).encode())
    sources, references = plan.test.sides
    words, _ = words_of(plan.test.languages)
    buckets = length_buckets([len(words(source)) for source in sources])
    outcomes: dict[str, list[Outcome]] = {}
    curves: dict[str, list[list[float]]] = {}
    for run, outcome, translations in measured:
        values = bleu_by_bucket(buckets, translations, references, plan.test.tokenizer)
        outcomes.setdefault(run.variant, []).append(outcome)
        curves.setdefault(run.variant, []).append(values)
    save_curves([label for label, _ in buckets], curves, output / "by_length.png")
    line = line_to_draw(sentence, sources, words)
    first_seed = [run for run, _, _ in measured if run.seed == 1]
    present = [run for run in first_seed if run.directory.exists()]
    if len(present) < len(first_seed):
        gone = ", ".join(str(run.directory) for run in first_seed if run not in present)
        say(f"attention is drawn without the runs that are no longer there: {gone}")
    drawn = save_attention(present, sources[line], references[line], output / "attention.png", _gold(plan, line))
    lines = [*_overview(plan, outcomes), *_length_section(buckets, curves)]
    lines += _attention_section(line, bool(plan.test.alignment)) if drawn else []
    write_atomically(output / "report.md", "\n".join(lines).encode())
    return output / "report.md"


def line_to_draw(sentence: int, sources: Sequence[str], words: Words = SPACED) -> int:
    """The line, from 0, whose attention is drawn.

    Args:
        sentence: the line from 1; 0: the first line of `LEAST_WORDS` or more.
        sources: the lines of the test set.
        words: cuts a line into words.

    Raises:
        ComparisonError: the test set has no such line.
    """
    if sentence:
        if sentence > len(sources):
            raise ComparisonError(f"--sentence {sentence}: the test set has {counted(len(sources), 'line')}")
        return sentence - 1
    return next((i for i, source in enumerate(sources) if len(words(source)) >= LEAST_WORDS), 0)


def _gold(plan: ComparisonPlan, line: int) -> Gold | None:
    """The gold links of a line of the test set, from 0."""
    if not plan.test.alignment:
        return None
    return read_gold(list(read_lines(plan.test.alignment)), plan.test.alignment)[line]


def _overview(plan: ComparisonPlan, outcomes: Outcomes) -> list[str]:
    first = next(iter(outcomes))
    return [
        "# Comparison",
        "",
        plan.about,
        "",
        _conditions(outcomes),
        "",
        f"The last two columns compare a variant with {first}: the mean of the variant minus the mean of {first}. (=) "
        "means that the ranges of their seeds overlap, so the difference may be chance. (?) means that there is only "
        "one seed.",
        "",
        *outcome_table(outcomes),
        "",
        "| variant | changes |",
        "| --- | --- |",
        *(f"| {name} | `{json.dumps(plan.changes[name])}` |" for name in outcomes),
        "",
    ]


def _conditions(outcomes: Outcomes) -> str:
    every = [outcome for found in outcomes.values() for outcome in found]
    jobs = ", ".join(map(str, sorted({outcome.jobs for outcome in every})))
    precisions = ", ".join(sorted({outcome.precision for outcome in every}))
    return (
        f"{counted(len(every), 'training')}, {jobs} at once; {precisions}; nmt {__version__}, Python "
        f"{platform.python_version()}, {platform.machine()}, {time.strftime('%Y-%m-%d')}. BLEU and chrF are those of "
        "the test set, translated with the search of the configuration; AER is that of its pairs. Tokens are target "
        "tokens per second of training."
    )


def _length_section(buckets: Sequence[Bucket], curves: Curves) -> list[str]:
    return [
        "## BLEU by length",
        "",
        "BLEU by the number of words in the source sentence, the mean over the seeds. The number of sentences is in "
        "parentheses.",
        "",
        *length_table(buckets, curves),
        "",
        "![BLEU by length](by_length.png)",
        "",
    ]


def _attention_section(line: int, gold: bool) -> list[str]:
    return [
        "## Attention to one sentence",
        "",
        f"Line {line + 1} of the test set with its reference, seed 1. Rows are target words, columns are source words"
        f"{', gold links are outlined' if gold else ''}.",
        "",
        "![Attention of every variant](attention.png)",
        "",
    ]
