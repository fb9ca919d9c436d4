"""The quality to expect of a training: for a text, for a half and a multiple of it, and after a short training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.run.history import history_numbers
from nmt.training.quality.fit import (
    Estimate,
    QualityFit,
    chrf_of,
    combined,
    from_short_training,
    from_text,
    unlike_measured,
)
from nmt.training.quality.text_figures import EVERY, TextFigures

_BLEU = "validation_bleu"

MORE = (2, 4)
"""Multiples of the text whose quality is extrapolated."""

LEAST_SHARE = 1 / 8
"""The least share of the epochs of a short training that counts: the least that the fit has seen."""


class ShortTraining(NamedTuple):
    """A training that is shorter than the full one, or is not finished."""

    bleu: float
    """Best greedy BLEU of the validation pairs."""
    epochs: float
    """Epochs of the training."""
    full: int
    """Epochs of the full training."""

    @property
    def share(self) -> float:
        return min(self.epochs / self.full, 1.0)

    @property
    def needed(self) -> int:
        """The least number of epochs that counts."""
        return math.ceil(LEAST_SHARE * self.full)


class Expected(NamedTuple):
    """The quality that a text of some size should give."""

    pairs: float
    bleu: Estimate


@dataclass(frozen=True)
class Prediction:
    """The quality to expect of a full training."""

    figures: TextFigures
    unlike: list[str]
    """Reasons why the text is unlike every measured one; empty: the text is like them."""
    of_text: Estimate
    """From the text alone."""
    of_training: Estimate | None
    """From the short training alone; None if there is none, or if it is shorter than `LEAST_SHARE`."""
    short: ShortTraining | None
    bleu: Estimate
    """From all that is known."""
    chrf: Estimate
    curve: list[Expected]
    """The first pairs of the text, more and more of them, then the whole text; from the text alone."""
    more: list[Expected]
    """The whole text, then `MORE` times as much text of its kind; from all that is known."""


def predict(figures: Sequence[TextFigures], fit: QualityFit, short: ShortTraining | None = None) -> Prediction:
    """The quality to expect.

    Args:
        figures: result of `measure_figures`.
        fit: the coefficients.
        short: a short training on the text, if there was one.

    Raises:
        NmtError: the text is too short to measure.
    """
    if not figures:
        raise NmtError(f"the text has fewer than {EVERY} pairs, too few to measure")
    of_text = from_text(figures[-1], fit)
    of_training = None
    if short and short.epochs >= short.needed:
        of_training = from_short_training(short.bleu, short.share, fit)
    bleu = combined([of_text, of_training]) if of_training else of_text
    curve = [Expected(one.pairs, from_text(one, fit)) for one in figures]
    unlike, chrf, more = unlike_measured(figures[-1], fit), chrf_of(bleu, fit), _more(curve, bleu)
    return Prediction(figures[-1], unlike, of_text, of_training, short, bleu, chrf, curve, more)


def _more(curve: Sequence[Expected], bleu: Estimate) -> list[Expected]:
    """More text of its kind, beginning with `bleu` for the whole text.

    The log-odds go on as they rose with the logarithm of the pairs, from an eighth of the text on.

    The uncertainty of the slope, which only this text decides, is taken as half of what the slope adds.
    """
    last = curve[-1]
    recent = [one for one in curve if one.pairs >= last.pairs / 8]
    found = [Expected(last.pairs, bleu)]
    if len(recent) < 2:
        return found
    slope = (last.bleu.mean - recent[0].bleu.mean) / math.log(last.pairs / recent[0].pairs)
    for factor in MORE:
        step = slope * math.log(factor)
        found.append(Expected(last.pairs * factor, Estimate(bleu.mean + step, math.hypot(bleu.deviation, step / 2))))
    return found


def read_short_training(run: Run, full: int) -> ShortTraining:
    """The best validation of a run and its epochs, beside the epochs of a full training.

    Raises:
        NmtError: the run has no validation yet.
    """
    rows = [
        values
        for row in run.read_history()
        # Runs of earlier versions count complete epochs alone.
        if (values := history_numbers(row, "epochs", _BLEU) or history_numbers(row, "pass", _BLEU))
    ]
    if not rows:
        raise NmtError(f"{run.directory}: no validation in history.csv yet; wait for the first one")
    epochs, bleu = (max(column) for column in zip(*rows, strict=True))
    return ShortTraining(bleu, max(epochs, 1), full)
