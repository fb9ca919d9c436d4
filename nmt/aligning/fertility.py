"""Fertility: how many words a word generates. Some generate two or none, whatever the jumps (Brown et al. 1993).

The exact posterior under fertilities cannot be computed, so each word sees the others by their expectation (mean
field): the emission of a word x is multiplied by f(n + 1 | x) / f(n | x), where n is the expected number of the other
words that x generates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST = 8
"""Fertilities are counted from 0 to 7; 7 stands for more too."""
PRIOR = 10.0
"""Words of average fertility that are added to the counts of each word."""

Floats = NDArray[np.float64]


def log_ratios(counts: Floats) -> Floats:
    """log f(n + 1) - log f(n) of each word, [ids, `MOST`], from expected counts of its fertilities.

    Each word's fertilities are smoothed by those of all words.

    Args:
        counts: [ids, `MOST`].
    """
    everywhere = counts.sum(axis=0)
    everywhere = everywhere + 1e-3 * everywhere.sum() * 0.5 ** np.arange(MOST)
    smoothed = counts + PRIOR * everywhere / everywhere.sum()
    logs = np.log(smoothed)
    ratios = np.diff(logs, axis=1)
    return np.concatenate([ratios, ratios[:, -1:]], axis=1)


def factors(ratios: Floats, ids: NDArray[np.int32], words: Floats) -> Floats:
    """The factors on the emissions, [sentences, words, generating words].

    Args:
        ratios: from `log_ratios`.
        ids: of the generating words, [sentences, generating words].
        words: posterior, [sentences, words, generating words].
    """
    others = np.clip(words.sum(axis=1, keepdims=True) - words, 0, MOST - 1.001)
    below = others.astype(np.int64)
    share = others - below
    rows = ids[:, None, :]
    return np.exp((1 - share) * ratios[rows, below] + share * ratios[rows, np.minimum(below + 1, MOST - 1)])


def distribution(words: Floats) -> Floats:
    """The probability of each fertility, [sentences, generating words, `MOST`], from a posterior.

    Words are generated independently, so the number has a Poisson binomial distribution.

    Args:
        words: [sentences, words, generating words].
    """
    found = np.zeros((words.shape[0], words.shape[2], MOST))
    found[..., 0] = 1
    for i in range(words.shape[1]):
        chosen = words[:, i, :, None]
        after = found * (1 - chosen)
        after[..., 1:] += found[..., :-1] * chosen
        after[..., -1] += found[..., -1] * chosen[..., 0]
        found = after
    return found
