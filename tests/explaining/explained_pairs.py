"""Sentence pairs whose attention is given as a table, and random measures."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from nmt.alignment.word_alignment import WordAlignment
from nmt.explaining.pair_measures import PairMeasures, measure_pair


def pair(source: str, target: str, weights: list[list[float]]) -> WordAlignment:
    """A pair whose end of sentence gets the rest of each row."""
    matrix = np.array(weights, np.float32).reshape(len(target.split()), len(source.split()))
    return WordAlignment(tuple(source.split()), tuple(target.split()), matrix, np.maximum(1 - matrix.sum(axis=1), 0))


def _random_rows(draw: st.DrawFn, rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(draw(st.integers(0, 999))).dirichlet(np.full(columns, 0.3), rows)


@st.composite
def random_measures(draw: st.DrawFn) -> PairMeasures:
    """The measures of a random pair."""
    source = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6))
    target = draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=6))
    rows = _random_rows(draw, len(target), len(source) + 1)
    alignment = WordAlignment(tuple(source), tuple(target), rows[:, :-1], rows[:, -1])
    return measure_pair(alignment, -draw(st.floats(0, 90)), len(target) + 1)
