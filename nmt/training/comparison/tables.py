"""The tables of a comparison's report: Markdown with means and ranges over the seeds, and CSV with all outcomes."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from nmt.training.comparison.length_buckets import Bucket
from nmt.training.comparison.outcomes import Outcome

Outcomes = Mapping[str, Sequence[Outcome]]
"""The outcomes of each variant, one for each seed."""

Curves = Mapping[str, Sequence[Sequence[float]]]
"""The BLEU of each variant: for each seed, one value per bucket."""


class _Column(NamedTuple):
    name: str
    value: Callable[[Outcome], float | None]
    form: str


_BLEU = _Column("BLEU", lambda outcome: outcome.bleu, "{:.2f}")
_AER = _Column("AER", lambda outcome: outcome.aer, "{:.3f}")
_COLUMNS = (
    _BLEU,
    _Column("chrF", lambda outcome: outcome.chrf, "{:.2f}"),
    _AER,
    _Column("tokens/s", lambda outcome: outcome.tokens_per_second, "{:,.0f}"),
    _Column("MiB", lambda outcome: outcome.peak_memory_mib, "{:,.0f}"),
)


def csv_text(outcomes: Sequence[Outcome]) -> str:
    """One line for each outcome, after a line with the names of the columns."""
    text = io.StringIO()
    rows = [asdict(outcome) for outcome in outcomes]
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def outcome_table(outcomes: Outcomes) -> list[str]:
    """One row for each variant: means, ranges, and differences from the first variant."""
    first = next(iter(outcomes))
    names = ["variant", "seeds", "parameters", *(column.name for column in _COLUMNS), "BLEU against", "AER against"]
    rows = []
    for name, found in outcomes.items():
        cells = [name, str(len(found)), f"{found[0].parameters:,}"]
        cells += [mean_and_range([column.value(outcome) for outcome in found], column.form) for column in _COLUMNS]
        for _, value, form in (_BLEU, _AER):
            others = [value(outcome) for outcome in outcomes[first]]
            cells.append("" if name == first else difference([value(outcome) for outcome in found], others, form))
        rows.append(_row(cells))
    return [_row(names), _rule(len(names)), *rows]


def length_table(buckets: Sequence[Bucket], curves: Curves) -> list[str]:
    """One row for each variant: its BLEU in each bucket, the mean over the seeds."""
    rows = [
        _row([name, *(f"{statistics.mean(values):.1f}" for values in zip(*seeds, strict=True))])
        for name, seeds in curves.items()
    ]
    names = ["variant", *(f"{label} ({len(lines)})" for label, lines in buckets)]
    return [_row(names), _rule(len(names)), *rows]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(in_table, cells)) + " |"


def in_table(cell: str) -> str:
    """A cell of a Markdown table, where a bar begins the next one."""
    return cell.replace("|", r"\|")


def _rule(columns: int) -> str:
    """The line below the names: the first column is text, all others are right-aligned numbers."""
    return "| --- |" + " ---: |" * (columns - 1)


def mean_and_range(values: Sequence[float | None], form: str) -> str:
    """Mean and range over the seeds, such as "37.1 (36.8 to 37.3)"; "-" where nothing was measured."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    mean = form.format(statistics.mean(known))
    if len(known) == 1:
        return mean
    return f"{mean} ({form.format(min(known))} to {form.format(max(known))})"


def difference(values: Sequence[Any], others: Sequence[Any], form: str) -> str:
    """The difference between the means of two variants: (=) if the ranges of their seeds overlap, (?) for one seed."""
    if None in values or None in others:
        return "-"
    apart = max(values) < min(others) or max(others) < min(values)
    text = form.replace("{:", "{:+").format(statistics.mean(values) - statistics.mean(others))
    if len(values) == 1 or len(others) == 1:
        return f"{text} (?)"
    return text if apart else f"{text} (=)"
