"""The drawing of a prediction: BLEU against the number of pairs, with its uncertainty and the measured texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nmt.training.quality.fit import QualityFit, load_fit
from nmt.training.quality.prediction import Expected, Prediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TEXT, _TRAINING, _OTHERS = "#4477aa", "#c04f00", "#777777"


def draw_prediction(prediction: Prediction, fit: QualityFit | None = None) -> Figure:
    """The expected BLEU of the text, of its parts and of more text, with bands of four fifths; other texts as dots."""
    from matplotlib.figure import Figure

    fit = fit or load_fit()
    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    _draw(axes, prediction.curve, "-", "expected from the text")
    if len(prediction.more) > 1:
        _draw(axes, prediction.more, "--", "more text of its kind")
    for one in fit.measured:
        axes.plot(one.pairs, one.bleu, "o", ms=4, color=_OTHERS)
        if "," not in one.name:  # parts of a text would cover each other's names
            axes.annotate(
                one.name, (one.pairs, one.bleu), (-4, 4), textcoords="offset points", ha="right", fontsize=7,
                color=_OTHERS,
            )  # fmt: skip
    low, high = prediction.bleu.interval
    value = prediction.bleu.value
    label = "this text" if prediction.short is None else "this text, with the short training"
    axes.errorbar(
        prediction.figures.pairs, value, [[value - low], [high - value]], fmt="D", ms=6, capsize=4, color=_TRAINING,
        label=f"{label}: {value:.1f}, {low:.1f} to {high:.1f}",
    )  # fmt: skip
    axes.plot([], [], "o", ms=4, color=_OTHERS, label="measured texts")
    axes.set(xlabel="sentence pairs", ylabel="BLEU", ylim=(0, 100))
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def _draw(axes: Axes, expected: Sequence[Expected], style: str, label: str) -> None:
    pairs = [one.pairs for one in expected]
    low, high = zip(*(one.bleu.interval for one in expected), strict=True)
    axes.plot(pairs, [one.bleu.value for one in expected], style, color=_TEXT, lw=1.5, label=label)
    axes.fill_between(pairs, low, high, color=_TEXT, alpha=0.15, lw=0)
