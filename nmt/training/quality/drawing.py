"""The drawing of a prediction: BLEU against the number of pairs, with its uncertainty and the measured texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nmt.training.quality.fit import MeasuredText, QualityFit, load_fit
from nmt.training.quality.prediction import Expected, Prediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TEXT, _TRAINING, _OTHERS = "#4477aa", "#c04f00", "#777777"


def draw_prediction(prediction: Prediction, fit: QualityFit | None = None) -> Figure:
    """The expected BLEU of the text, of its parts and of more text, with bands of four fifths; other texts as dots.

    A line joins a text and its parts.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    fit = fit or load_fit()
    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    _draw(axes, prediction.curve, "-", "expected from the text")
    if len(prediction.more) > 1:
        _draw(axes, prediction.more, "--", "more text of its kind")
    _draw_measured(axes, fit)
    low, high = prediction.bleu.interval
    value = prediction.bleu.value
    label = "this text" if prediction.of_training is None else "this text, with the short training"
    axes.errorbar(
        prediction.figures.pairs, value, [[value - low], [high - value]], fmt="D", ms=6, capsize=4, color=_TRAINING,
        label=f"{label}: {value:.1f}, {low:.1f} to {high:.1f}",
    )  # fmt: skip
    axes.set(xlabel="sentence pairs", ylabel="BLEU", ylim=(0, 100))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, fontsize=8, loc="outside upper left", ncols=2)
    return figure


def _draw_measured(axes: Axes, fit: QualityFit) -> None:
    """The measured texts; a name stands at the largest part of each."""
    texts: dict[str, list[MeasuredText]] = {}
    for one in sorted(fit.measured, key=lambda one: (one.pairs, -one.bleu)):
        texts.setdefault(one.name.partition(",")[0], []).append(one)
    for number, (name, parts) in enumerate(texts.items()):
        pairs, bleu = [one.pairs for one in parts], [one.bleu for one in parts]
        axes.plot(pairs, bleu, "o-", ms=4, lw=0.6, color=_OTHERS, label=None if number else "measured texts")
        place = next((one.pairs, one.bleu) for one in parts if one.pairs == pairs[-1])
        axes.annotate(name, place, (-4, 4), textcoords="offset points", ha="right", fontsize=7, color=_OTHERS)


def _draw(axes: Axes, expected: Sequence[Expected], style: str, label: str) -> None:
    pairs = [one.pairs for one in expected]
    low, high = zip(*(one.bleu.interval for one in expected), strict=True)
    axes.plot(pairs, [one.bleu.value for one in expected], style, color=_TEXT, lw=1.5, label=label)
    axes.fill_between(pairs, low, high, color=_TEXT, alpha=0.15, lw=0)
