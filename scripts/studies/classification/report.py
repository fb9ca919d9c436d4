"""The results as a table and a figure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from studies.classification.sentences import Example

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Results = dict[int, dict[str, dict[str, list[float]]]]
"""By training sentences, model and measurement: one number per seed."""


def spread(values: Sequence[float]) -> str:
    """The mean, the smallest and the largest value."""
    return f"{statistics.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def table(results: Results, majority: float, by_chance: float) -> str:
    """Markdown: a row for each training set and model."""
    lines = [
        "| training sentences | model | accuracy | with a determiner between | weight on the two words |",
        "| ---: | --- | --- | --- | --- |",
    ]
    for size, found in results.items():
        lines.append(f"| {size:,} | majority class | {majority:.3f} | | |")
        for name, numbers in found.items():
            name = f"BiLSTM, {name}" if "share" in numbers else name
            cells = [spread(numbers[key]) if key in numbers else "" for key in ("accuracy", "between", "share")]
            lines.append(f"| {size:,} | {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, f"| | chance | | | {by_chance:.3f} |"])


def draw(examples: Sequence[Example], weights: dict[str, np.ndarray]) -> Figure:
    """A heat map for each sentence, with a row for each pooling and frames around the deciding words.

    Args:
        examples: the sentences.
        weights: weights of each pooling, [sentences, positions]; each row is drawn as shares of its sum.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure = Figure(figsize=(8.5, 1.75 * len(examples) + 0.3), layout="constrained")
    longest = max(len(example.words) for example in examples)
    grid = figure.subplots(len(examples), squeeze=False)[:, 0]
    for axes, example, rows in zip(grid, examples, zip(*weights.values(), strict=True), strict=True):
        words = len(example.words)
        shares = np.array([row[:words] / max(row.sum(), 1e-9) for row in rows])
        image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(words), example.words, rotation=40, ha="right", rotation_mode="anchor", fontsize=8)
        axes.set_yticks(range(len(weights)), [*weights], fontsize=8)
        axes.set_xlim(-0.5, longest - 0.5)  # cells of equal width in all sentences
        axes.spines[:].set_visible(False)
        for position in example.deciding:
            axes.add_patch(
                Rectangle(
                    (position - 0.5, -0.5), 1, len(weights), fill=False, edgecolor="#d55e00", lw=1.8, clip_on=False
                )
            )
            axes.get_xticklabels()[position].set(color="#d55e00", fontweight="bold")
        axes.set_title("agree" if example.label else "do not agree", fontsize=8, loc="left")
    bar = figure.colorbar(image, ax=figure.axes, shrink=0.5)
    bar.set_label("share of the weight", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    return figure
