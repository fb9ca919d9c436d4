"""The figures of a comparison: BLEU by sentence length, and the attention of each variant to one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nmt.alignment.links import Gold
from nmt.alignment.word_alignment import WordAlignment
from nmt.direction import right_to_left
from nmt.drawing import drawable, save_figure
from nmt.drawing.canvas import GENERIC, GRID, INK, SMALL, WORD, Floats, drawing, style_bar
from nmt.drawing.fonts import find_fonts
from nmt.drawing.legends import add_legend
from nmt.training.comparison.plan import VariantRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#555555")
"""Paul Tol's bright scheme, which suits colour-blind readers. Variants that share a colour differ in line style."""

STYLES = ("-", "--", ":")


def save_curves(labels: Sequence[str], curves: Mapping[str, Sequence[Sequence[float]]], path: Path) -> None:
    """Draws BLEU by length, one line per variant with the range of its seeds shaded.

    Args:
        labels: the labels of the buckets.
        curves: for each variant and each seed, one value per bucket.
        path: a .png, .pdf or .svg file.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with drawing():
        figure = Figure(figsize=(8.5, 4.8), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        places = np.arange(len(labels))
        for number, seeds in enumerate(curves.values()):
            values, colour = np.array(seeds, float), COLOURS[number % len(COLOURS)]
            style = STYLES[number // len(COLOURS) % len(STYLES)]
            if len(labels) == 1:  # a line needs two points
                _draw_single_points(axes, (number, len(curves)), values[:, 0], colour)
                continue
            axes.plot(places, values.mean(axis=0), style, color=colour, marker="o", markersize=3, label=number)
            if len(values) > 1:
                axes.fill_between(places, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.12, linewidth=0)
        if len(labels) == 1:
            axes.set_xlim(-0.5, 0.5)
        axes.set_xticks(places, labels)
        axes.set_xlabel("words of the source sentence")
        axes.set_ylabel("BLEU")
        axes.grid(color=GRID, linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
        add_legend(figure, axes, list(curves))
    save_figure(figure, path)


def _draw_single_points(axes: Axes, place: tuple[int, int], values: Floats, colour: str) -> None:
    """Draws the mean of a variant's seeds as a marker, and their range as a bar, side by side with other variants.

    Args:
        axes: their only length is at 0.
        place: number of the variant, and number of variants.
        values: BLEU of each seed.
        colour: of the variant.
    """
    number, count = place
    mean = float(values.mean())
    spread = [[max(mean - float(values.min()), 0)], [max(float(values.max()) - mean, 0)]]  # the mean is rounded
    x = 0.6 * ((number + 0.5) / count - 0.5)
    axes.errorbar([x], [mean], spread if len(values) > 1 else None, fmt="o", color=colour, capsize=3, label=number)


def save_attention(runs: Sequence[VariantRun], source: str, target: str, path: Path, gold: Gold | None = None) -> bool:
    """Draws a grid of heat maps of one pair, one for each run with attention. Deletes an earlier file where no run has.

    Args:
        runs: trained runs.
        source, target: the pair.
        path: a .png, .pdf or .svg file.
        gold: links that are outlined.

    Returns:
        Whether there was something to draw.
    """
    from nmt.translation.translator import Translator

    alignments = {}
    for run in runs:
        if run.config.model.attends:
            translator = Translator.load(run.directory, aligner=False)  # attention is compared
            (pair,) = translator.align([source], [target])
            if drawable(pair.alignment):
                alignments[run.variant] = pair.alignment
    if not alignments:
        path.unlink(missing_ok=True)
        return False
    with drawing():
        figure = _grid(alignments, gold)
    save_figure(figure, path)
    return True


def _grid(alignments: Mapping[str, WordAlignment], gold: Gold | None) -> Figure:
    """Draws the alignments by variant; words are printed only at the left and lower edge of the grid."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    first = next(iter(alignments.values()))
    columns = min(4, len(alignments))
    rows = -(-len(alignments) // columns)
    words = [*first.source, *first.target]
    fonts = [*find_fonts([*words, *alignments]), GENERIC]
    style: dict[str, Any] = {"fontfamily": fonts, "parse_math": False, "fontsize": SMALL, "color": INK}
    cell = 0.17  # inches
    width, height = cell * len(first.source) + 0.25, cell * len(first.target) + 0.35
    figure = Figure(figsize=(columns * width + 1.6, rows * height + 1.2), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid.flat[len(alignments) :]:
        axes.set_visible(False)
    for number, (name, alignment) in enumerate(alignments.items()):
        axes = grid.flat[number]
        image = axes.imshow(alignment.weights, cmap="Blues", vmin=0, vmax=1, interpolation="nearest", aspect="auto")
        axes.set_title(name, **{**style, "fontsize": WORD})
        if right_to_left(first.source):
            axes.set_xlim(len(first.source) - 0.5, -0.5)
        axes.set_xticks(range(len(first.source)), first.source, rotation=90, **style)
        axes.set_yticks(range(len(first.target)), first.target, **style)
        axes.tick_params(length=0, labelbottom=number + columns >= len(alignments))
        axes.spines[:].set_color(GRID)
        for s, t in sorted(gold.sure | gold.possible) if gold else ():
            axes.add_patch(Rectangle((s - 0.5, t - 0.5), 1, 1, fill=False, edgecolor="#cc6611", linewidth=0.7))
    style_bar(figure.colorbar(image, ax=grid, shrink=0.5, label="attention"))
    return figure
