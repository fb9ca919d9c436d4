"""The fit of quality on this project's own trainings, and the estimates that it gives.

`scripts/studies/fit_quality.py` makes coefficients.json from docs/results.jsonl and from the texts. BLEU is computed
with as log-odds, ln(BLEU / (100 - BLEU)), where equal changes of the text have about equal effects.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

from nmt.training.quality.text_figures import TextFigures

QUANTILE = 1.2816
"""Of the normal distribution: four of five values lie within so many deviations."""


class MeasuredText(NamedTuple):
    """A text of the fit with the BLEU of full trainings on it."""

    name: str
    pairs: int
    bleu: float
    predicted: float
    """BLEU by a fit without this text's corpus."""


class QualityFit(NamedTuple):
    """The coefficients, all in log-odds."""

    text: list[float]
    """Constant, and factors of the mean logarithm of both unseen shares and of the logarithm of target words."""
    text_deviation: float
    """Of the estimate from a text, for a corpus that is no part of the fit."""
    gain: float
    """Gain of the rest of a training after a share f of its epochs, by 1 / f - 1."""
    gain_deviation: float
    beam: float
    """Gain of a beam of 5 over greedy search."""
    seeds: float
    """Deviation between seeds."""
    size: float
    """Gain of a network for each e-fold of its parameters."""
    chrf: list[float]
    """Constant and factor: log-odds of chrF2 from those of BLEU."""
    chrf_deviation: float
    words: list[float]
    """Target words per sentence of the measured texts, the least and the most."""
    measured: list[MeasuredText]


class Estimate(NamedTuple):
    """An estimate of BLEU, or of chrF2: normal in log-odds."""

    mean: float
    deviation: float

    @property
    def value(self) -> float:
        """The expected score, 0 to 100."""
        return score(self.mean)

    @property
    def interval(self) -> tuple[float, float]:
        """Scores between which four of five trainings should end."""
        reach = QUANTILE * self.deviation
        return score(self.mean - reach), score(self.mean + reach)


@cache
def load_fit() -> QualityFit:
    """The coefficients that come with nmt."""
    text = resources.files("nmt.training.quality").joinpath("coefficients.json").read_text(encoding="utf-8")
    fields = json.loads(text)
    return QualityFit(**fields | {"measured": [MeasuredText(*row) for row in fields["measured"]]})


def log_odds(points: float) -> float:
    """ln(p / (1 - p)) of a score from 0 to 100, which is moved at least 0.01 from both ends."""
    share = min(max(points, 0.01), 99.99) / 100
    return math.log(share / (1 - share))


def score(odds: float) -> float:
    """The score of log-odds, 0 to 100."""
    return 100 / (1 + math.exp(-odds))


def predictors(figures: TextFigures) -> list[float]:
    """1, the mean logarithm of both unseen shares, the logarithm of target words per sentence."""
    unseen = (math.log(figures.source_unseen) + math.log(figures.target_unseen)) / 2
    return [1.0, unseen, math.log(max(figures.target_words, 1.0))]


def from_text(figures: TextFigures, fit: QualityFit) -> Estimate:
    """BLEU of a full training on a text, with a beam of 5 on sentences like its own.

    No training shows the effect of sentences shorter or longer than the measured ones. The estimate then takes half of
    the effect that the fit extrapolates, and this half counts as uncertainty.
    """
    least, most = fit.words
    measured = figures._replace(target_words=min(max(figures.target_words, least), most))
    mean, nearest = (
        sum(factor * value for factor, value in zip(fit.text, predictors(one), strict=True))
        for one in (figures, measured)
    )
    return Estimate((mean + nearest) / 2, math.hypot(fit.text_deviation, (mean - nearest) / 2))


def unlike_measured(figures: TextFigures, fit: QualityFit) -> list[str]:
    """The reasons why a text is outside of the measured range, in words."""
    smallest, (least, most) = min(one.pairs for one in fit.measured), fit.words
    reasons = {
        f"it has fewer than {smallest:,} pairs": figures.pairs < smallest,
        f"its sentences are shorter, by {least - figures.target_words:.2f} target words": figures.target_words < least,
        f"its sentences are longer, by {figures.target_words - most:.2f} target words": figures.target_words > most,
    }
    return [reason for reason, holds in reasons.items() if holds]


def from_short_training(greedy_bleu: float, share: float, fit: QualityFit) -> Estimate:
    """BLEU of a full training from greedy BLEU after a share of its epochs, 0 to 1."""
    left = max(1 / share - 1, 0.0)
    mean = log_odds(greedy_bleu) + fit.beam + fit.gain * left
    return Estimate(mean, math.hypot(fit.seeds, fit.gain_deviation * left))


def combined(estimates: Sequence[Estimate]) -> Estimate:
    """Independent estimates of one quantity as one, each weighted by its inverse variance."""
    weights = [one.deviation**-2 for one in estimates]
    mean = sum(weight * one.mean for weight, one in zip(weights, estimates, strict=True)) / sum(weights)
    return Estimate(mean, sum(weights) ** -0.5)


def chrf_of(bleu: Estimate, fit: QualityFit) -> Estimate:
    """The estimate of chrF2 that goes with an estimate of BLEU."""
    constant, factor = fit.chrf
    return Estimate(constant + factor * bleu.mean, math.hypot(fit.chrf_deviation, factor * bleu.deviation))
