"""Sampling: frequencies against the distributions of hand-drawn chains."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from chains import A, B, C, chain, pieces, search_chain

from nmt import search
from nmt.text.pieces import EOS


def sample(table: np.ndarray, seed: int, slots: int, **options: Any) -> search.SearchResult:
    sampling = search.Sampling(np.array([seed] * len(table), np.uint32), **options)
    return search_chain(table, [3] * len(table), search.SearchMethod(slots, sampling, nbest=slots, independent=True))


def test_samples_follow_the_distribution_of_the_model() -> None:
    table = chain(7, start={A: 0.5, B: 0.3, EOS: 0.2}, A={EOS: 1.0}, B={A: 0.25, EOS: 0.75})
    found = sample(table, 3, 4000)
    counts = dict.fromkeys([(A, EOS), (B, A, EOS), (B, EOS), (EOS,)], 0)
    for slot in range(4000):
        counts[tuple(pieces(found, slot=slot))] += 1
    expected = {(A, EOS): 0.5, (B, A, EOS): 0.075, (B, EOS): 0.225, (EOS,): 0.2}
    for path, probability in expected.items():
        deviation = math.sqrt(probability * (1 - probability) / 4000)
        assert abs(counts[path] / 4000 - probability) < 4 * deviation
    for slot in range(50):
        chance = expected[tuple(pieces(found, slot=slot))]
        np.testing.assert_allclose(found.log_probabilities[0, slot], math.log(chance), rtol=1e-5)


def test_the_temperature_sharpens_or_flattens_the_distribution() -> None:
    """Temperature 1/2 squares the probabilities: 0.64 to 0.04 is 16 to 1."""
    table = chain(6, start={A: 0.8, B: 0.2}, A={EOS: 1.0}, B={EOS: 1.0})
    for temperature, share in [(1.0, 0.8), (0.5, 16 / 17), (2.0, 2 / 3)]:
        found = sample(table, 5, 3000, temperature=temperature)
        assert abs((found.tokens[0, :, 0] == A).mean() - share) < 0.03


@pytest.mark.parametrize(
    ("options", "kept"),
    [({"top_k": 1}, {A}), ({"top_k": 2}, {A, B}), ({"top_p": 0.49}, {A}), ({"top_p": 0.51}, {A, B}), ({}, {A, B, C})],
)
def test_only_the_most_probable_pieces_are_drawn(options: dict[str, Any], kept: set[int]) -> None:
    """A has 0.5, B 0.3, C 0.2. The nucleus of 0.49 is A alone, the nucleus of 0.51 is A and B."""
    table = chain(7, start={A: 0.5, B: 0.3, C: 0.2}, A={EOS: 1.0}, B={EOS: 1.0}, C={EOS: 1.0})
    assert set(sample(table, 1, 400, **options).tokens[0, :, 0].tolist()) == kept


def test_the_samples_of_a_sentence_depend_on_its_seed_alone() -> None:
    table = chain(7, start={A: 0.4, B: 0.4, C: 0.2}, A={A: 0.5, EOS: 0.5}, B={EOS: 1.0}, C={C: 0.9, EOS: 0.1})
    alone = [sample(table, seed, 8).tokens[0] for seed in (1, 2)]
    assert (alone[0] != alone[1]).any()
    both = search.Sampling(np.array([2, 1], np.uint32))
    method = search.SearchMethod(8, both, nbest=8, independent=True)
    together = search_chain(np.repeat(table, 2, axis=0), [3, 3], method)
    np.testing.assert_array_equal(together.tokens[0], alone[1])
    np.testing.assert_array_equal(together.tokens[1], alone[0])
