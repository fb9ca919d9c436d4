"""One score per sentence pair by a trained model: how unusual the pair is in its corpus, or how unlikely its target."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np

from nmt.explaining.pair_measures import MEASURES, measure_pair
from nmt.explaining.unusual_pairs import find_outliers
from nmt.translation.result import Translation

ScoreKind: TypeAlias = Literal["unusual", "unlikely"]


def score_pairs(pairs: Iterable[Translation], kind: ScoreKind) -> list[float]:
    """A score of each pair, higher for worse pairs; NaN for a pair with a blank side.

    Args:
        pairs: from `Translator.align`; may be a stream. Memory holds the measures of all pairs.
        kind: unusual, the score of `find_outliers`; unlikely, the negative log-probability in nats per target piece.
    """
    numbers = array("d")
    for pair in pairs:
        numbers.extend(measure_pair(pair.alignment, pair.log_probability, len(pair.pieces)).row())
    measures = np.frombuffer(numbers).reshape(-1, len(MEASURES))
    scores = find_outliers(measures).scores if kind == "unusual" else -measures[:, 0]
    return [float(score) for score in np.where(np.isfinite(scores), scores, np.nan)]
