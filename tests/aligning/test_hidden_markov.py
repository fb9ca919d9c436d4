"""The hidden Markov model against a sum over all paths, and its invariants."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nmt.aligning.hidden_markov import FARTHEST, first_jumps, with_jumps, without_jumps

SHARE = 0.2


def random_batch(sentences: int, words: int, generating: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.random((sentences, words, generating)), generator.random((sentences, words))


def all_paths(emission: np.ndarray, empty: np.ndarray, jumps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The posteriors of one sentence from the probability of each path."""
    words, generating = emission.shape
    start = jumps[np.arange(generating) + 1 + FARTHEST]
    start /= start.sum()
    real, nothing, total = np.zeros(emission.shape), np.zeros(words), 0.0
    for path in itertools.product(range(generating), [False, True], repeat=words):
        places, empties = path[::2], path[1::2]
        probability = 1.0
        for i in range(words):
            if i == 0:
                probability *= start[places[0]]
            elif empties[i]:
                probability *= places[i] == places[i - 1]
            else:
                reach = sum(jumps[j - places[i - 1] + FARTHEST] for j in range(generating))
                probability *= jumps[places[i] - places[i - 1] + FARTHEST] / reach
            probability *= SHARE * empty[i] if empties[i] else (1 - SHARE) * emission[i, places[i]]
        probability *= jumps[generating - places[-1] + FARTHEST]
        total += probability
        for i in range(words):
            if empties[i]:
                nothing[i] += probability
            else:
                real[i, places[i]] += probability
    return real / total, nothing / total


def test_forward_backward_sums_over_all_paths():
    emission, empty = random_batch(1, 3, 3)
    jumps = np.random.default_rng(1).random(len(first_jumps()))
    mask = np.ones((1, 3), bool)
    found = with_jumps(emission, empty, mask, mask, jumps, SHARE)
    words, nothing = all_paths(emission[0], empty[0], jumps)
    np.testing.assert_allclose(found.words[0], words, atol=1e-12)
    np.testing.assert_allclose(found.empty[0], nothing, atol=1e-12)


@pytest.mark.parametrize("ordered", [False, True])
def test_padding_changes_nothing(ordered):
    """Rows sum to one; beside a longer pair a pair has the posterior that it has alone."""
    emission, empty = random_batch(2, 5, 4)
    generating, generated = np.ones((2, 4), bool), np.ones((2, 5), bool)
    generating[1, 3:], generated[1, 2:] = False, False
    emission *= generating[:, None, :] & generated[:, :, None]
    empty *= generated

    def posterior(rows: slice, i: int, j: int):
        arrays = emission[rows, :i, :j], empty[rows, :i], generating[rows, :j]
        if not ordered:
            return without_jumps(*arrays, SHARE)
        return with_jumps(*arrays, generated[rows, :i], first_jumps(), SHARE)

    both, alone = posterior(slice(None), 5, 4), posterior(slice(1, 2), 2, 3)
    np.testing.assert_allclose(both.words.sum(2) + both.empty, generated.astype(float), atol=1e-12)
    np.testing.assert_allclose(both.words[1, :2, :3], alone.words[0], atol=1e-12)
    assert not both.words[1, 2:].any() and not both.words[1, :, 3:].any()
    if ordered:
        first = posterior(slice(0, 1), 5, 4)
        np.testing.assert_allclose(both.jumps, first.jumps + alone.jumps, atol=1e-12)


def test_the_words_decide_before_the_jumps():
    """Sure words keep their place however unlikely the jumps, even where products underflow."""
    emission = np.where(np.eye(40)[None, ::-1] > 0, 1e-30, 1e-60)
    mask = np.ones((1, 40), bool)
    found = with_jumps(emission, np.full((1, 40), 1e-60), mask, mask, first_jumps(), SHARE)
    assert (found.words[0].argmax(axis=1) == np.arange(40)[::-1]).all()
