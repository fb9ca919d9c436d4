"""How often each of several corpora is read in an epoch.

An epoch has as many pairs as all corpora together. Corpus c gets a share of them that is proportional to w_c n_c^(1/T),
of its weight w_c, its pairs n_c and the temperature T (Arivazhagan et al. 2019). With equal weights and T = 1 each pair
comes once. With a higher temperature a small corpus is read several times in an epoch, and a large one in part. The
next epoch goes on where this one stopped, so each pair of a corpus comes equally often, give or take once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nmt.batches.permutation import Permutation

_CORPUS, _EPOCH = 1, 2
"""First numbers of the keys of permutations, so that no two of them are equal."""


def quotas(pairs: Sequence[int], weights: Sequence[float], temperature: float) -> list[int]:
    """Pairs of each corpus in an epoch; their sum is the sum of `pairs`, and each is 1 at least.

    Args:
        pairs: pairs of each corpus, 1 or more.
        weights: of each corpus, above 0.
        temperature: above 0.
    """
    total = sum(pairs)
    shares = np.array(weights, float) * (np.array(pairs, float) / total) ** (1 / temperature)
    exact = shares / shares.sum() * total
    if np.allclose(exact, pairs, rtol=1e-12):
        return list(pairs)
    found = np.maximum(np.floor(exact), 1).astype(np.int64)
    order = np.argsort(found - exact, kind="stable")  # the largest remainders first
    missing = total - int(found.sum())
    found[order[: max(missing, 0)]] += 1
    found[found.argmax()] += min(missing, 0)  # a corpus had less than one pair
    return [int(quota) for quota in found]


@dataclass(frozen=True)
class Mixture:
    """The order in which the pairs of several corpora come, for every epoch.

    Each corpus is an endless sequence of permutations of its pairs. An epoch takes the next `quotas` pairs of each, and
    shuffles them all. Any part of the order can be computed by itself.

    Args:
        pairs: pairs of each corpus; the pairs of the first come first in the numbering.
        quotas: pairs of each corpus in an epoch.
        seed: of the order.
    """

    pairs: tuple[int, ...]
    quotas: tuple[int, ...]
    seed: int

    def __len__(self) -> int:
        """Pairs of an epoch."""
        return sum(self.quotas)

    def at(self, epoch: int, places: np.ndarray) -> np.ndarray:
        """The pairs at some places of an epoch.

        Args:
            places: from 0 to the pairs of an epoch, int64 [places].

        Returns:
            Numbers of pairs, int64 [places].
        """
        drawn = Permutation(len(self), (_EPOCH, self.seed, epoch))(places)
        found = np.empty_like(drawn)
        begin = first = 0
        for corpus, (pairs, quota) in enumerate(zip(self.pairs, self.quotas, strict=True)):
            chosen = np.flatnonzero((drawn >= begin) & (drawn < begin + quota))
            place = epoch * quota + drawn[chosen] - begin  # in the endless sequence of the corpus
            rounds = place // pairs
            for number in np.unique(rounds):
                within = rounds == number
                order = Permutation(pairs, (_CORPUS, self.seed, corpus, int(number)))
                found[chosen[within]] = first + order(place[within] % pairs)
            begin, first = begin + quota, first + pairs
        return found

    def windows(self, epoch: int, size: int, begin: int, end: int) -> Iterator[np.ndarray]:
        """The pairs from place `begin` to place `end` of an epoch, `size` at a time."""
        for first in range(begin, min(end, len(self)), size):
            yield self.at(epoch, np.arange(first, min(first + size, end, len(self))))
