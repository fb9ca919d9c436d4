"""The measured costs as tables and figures."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from studies.costs.formulas import COSTS, Case, Sizes, exponent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00")
MARKERS = ("o", "s")
COLUMNS = 4


class Sweep(NamedTuple):
    """Cases in which one size varies."""

    by: str
    """`length` or `width`."""
    cases: list[Case]

    def sizes(self) -> list[int]:
        return [getattr(case, self.by) for case in self.cases]


Measurements = dict[tuple[str, str, Case], list[float]]
"""By mechanism, pass and case: the seconds of every repeat, or a single number of MiB."""


def measured(found: Measurements, name: str, which: str, sweep: Sweep) -> list[tuple[Case, list[float]]]:
    """The measured cases of a sweep, without the cases that are too large."""
    return [(case, found[name, which, case]) for case in sweep.cases if (name, which, case) in found]


def growth(found: Measurements, name: str, which: str, sweep: Sweep) -> str:
    """The exponent of the medians, with the smallest and largest exponent of the repeats; empty below two sizes."""
    points = measured(found, name, which, sweep)
    if len(points) < 2:
        return ""
    sizes = [getattr(case, sweep.by) for case, _ in points]
    middle = exponent(sizes, [statistics.median(values) for _, values in points])
    each = [exponent(sizes, values) for values in zip(*(values for _, values in points), strict=True)]
    return f"{middle:.2f}" + (f" ({min(each):.2f} to {max(each):.2f})" if len(each) > 1 else "")


def expected(found: Measurements, name: str, which: str, sweep: Sweep, sizes: Sizes, memory: bool) -> str:
    """The exponent of the formula over the measured cases."""
    cases = [case for case, _ in measured(found, name, which, sweep)]
    if len(cases) < 2:
        return ""
    count = COSTS[name].count(which if memory else "time")
    return f"{exponent([getattr(case, sweep.by) for case in cases], [count(*case, sizes) for case in cases]):.2f}"


def table(found: Measurements, which: str, sweeps: Sequence[Sweep], sizes: Sizes, memory: bool) -> str:
    """Markdown for one pass: measured exponents by length and by width, those of the formula, and the time or memory of
    the largest case that all mechanisms share."""
    names = list(dict.fromkeys(name for name, _, _ in found))
    common = [case for case in sweeps[0].cases if all((name, which, case) in found for name in names)]
    quantity = "memory" if memory else "time"
    head = ["mechanism", "multiplications"]
    head += [text for sweep in sweeps for text in (f"{quantity}, exponent of {sweep.by}", "by counting")]
    head += [f"{'MiB' if memory else 'milliseconds'} at n = {common[-1].length}, d = {common[-1].width}"] * bool(common)
    lines = [f"| {' | '.join(head)} |", "| --- " * 2 + "| ---: " * (len(head) - 2) + "|"]
    for name in names:
        cells = [name, COSTS[name].written]
        for sweep in sweeps:
            cells += [growth(found, name, which, sweep), expected(found, name, which, sweep, sizes, memory)]
        if common:
            values = found[name, which, common[-1]]
            cells.append(amount(values, 1 if memory else 1000))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def amount(values: Sequence[float], factor: float) -> str:
    """Median (smallest to largest), with three digits each."""
    low, middle, high = (f"{factor * value:.3g}" for value in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} to {high})" if len(values) > 1 else middle


def draw(found: Measurements, sweep: Sweep, sizes: Sizes, memory: bool) -> Figure:
    """A panel for each mechanism on logarithmic axes: medians with the range of the repeats, one colour per pass. A
    broken line through the largest case shows the formula."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for name, _, _ in found))
    rows, columns = -(-len(names) // COLUMNS), min(COLUMNS, len(names))
    figure = Figure(figsize=(max(2.2 * columns, 4), 0.9 + 2.1 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid.flat[len(names) :]:
        axes.set_axis_off()
    for axes, name in zip(grid.flat, names, strict=False):
        _draw_panel(axes, found, name, sweep, sizes, memory)
    kept = {"length": f"d = {sweep.cases[0].width}", "width": f"n = {sweep.cases[0].length}"}[sweep.by]
    figure.supxlabel(f"{'length n' if sweep.by == 'length' else 'width d'} ({kept})", fontsize=9)
    figure.supylabel("MiB" if memory else "milliseconds of the processor", fontsize=9)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, fontsize=8, frameon=False)
    return figure


def _draw_panel(axes: Axes, found: Measurements, name: str, sweep: Sweep, sizes: Sizes, memory: bool) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sweep.sizes()[:: -(-len(sweep.cases) // 5)]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_title(name if memory else f"{name}\n{COSTS[name].written}", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.grid(color="#dddddd", linewidth=0.5)
    factor = 1 if memory else 1000
    passes = dict.fromkeys(which for _, which, _ in found)
    for which, colour, marker in zip(passes, COLOURS, MARKERS, strict=False):
        points = measured(found, name, which, sweep)
        if not points:
            continue
        sizes_here = [getattr(case, sweep.by) for case, _ in points]
        low, middle, high = (
            factor * np.array([pick(values) for _, values in points]) for pick in (min, statistics.median, max)
        )
        count = COSTS[name].count(which if memory else "time")
        formula = np.array([count(*case, sizes) for case, _ in points], dtype=float)
        label = f"{which}, by counting"
        axes.plot(sizes_here, formula * middle[-1] / formula[-1], "--", color=colour, lw=1, alpha=0.7, label=label)
        ends = [middle - low, high - middle]
        axes.errorbar(sizes_here, middle, ends, fmt=marker, color=colour, ms=3.5, elinewidth=1, label=which)
