"""The pairs of words that occur together in a pair of sentences: only these can be translations of each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_CELLS = 2**24
"""Different pairs of words that are kept; beyond it the rare ones are forgotten, so that memory stays bounded."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Cooccurrence:
    """Pairs of words by number: the position of a pair in `keys`, which are sorted."""

    keys: Ints
    """[pairs of words]: id of the source word times `target_size`, plus the id of the target word."""
    source_size: int
    target_size: int

    def __len__(self) -> int:
        return len(self.keys)

    def places(self, source: Ints, target: Ints) -> Ints:
        """The number of each pair of words; `len(self)` for words that never occurred together.

        Args:
            source: ids, [sentences, source words].
            target: ids, [sentences, target words].

        Returns:
            [sentences, target words, source words].
        """
        wanted = self._keys(source, target)
        if not len(self):
            return np.zeros_like(wanted)
        places = np.searchsorted(self.keys, wanted)
        found = self.keys[np.minimum(places, len(self) - 1)] == wanted
        return np.where(found, places, len(self))

    def words(self, side: int) -> Ints:
        """The id of the source word (side 0) or the target word (side 1) of each pair of words."""
        return self.keys // self.target_size if side == 0 else self.keys % self.target_size

    def _keys(self, source: Ints, target: Ints) -> Ints:
        return source.astype(np.int64)[:, None, :] * self.target_size + target[:, :, None]

    @classmethod
    def of(cls, pairs: Iterable[tuple[Ints, Ints]], source_size: int, target_size: int) -> Cooccurrence:
        """The pairs of words of some sentences, in bounded memory.

        Whenever there are more than `MOST_CELLS`, the rarest pairs of words are forgotten: see `_Counted`.

        Args:
            pairs: ids of the words of a source and of its target, each [words].
            source_size, target_size: numbers of ids.
        """
        counted = _Counted()
        for source, target in pairs:
            counted.add((source.astype(np.int64)[:, None] * target_size + target[None, :]).ravel())
        return cls(counted.keys(), source_size, target_size)


class _Counted:
    """Counts of keys, merged a chunk at a time (lossy counting, Manku and Motwani 2002).

    A key that may have been forgotten before counts as often as it can have occurred. So no key is lost that occurred
    more often than the largest forgotten count.
    """

    CHUNK = 2**22

    def __init__(self) -> None:
        self._keys, self._counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._waiting: list[Ints] = []
        self._size, self._forgotten = 0, 0

    def add(self, keys: Ints) -> None:
        self._waiting.append(keys)
        self._size += len(keys)
        if self._size >= self.CHUNK:
            self._merge()

    def keys(self) -> Ints:
        self._merge()
        return self._keys

    def _merge(self) -> None:
        if not self._waiting:
            return
        new, counts = np.unique(np.concatenate(self._waiting), return_counts=True)
        self._waiting, self._size = [], 0
        if self._forgotten:
            counts += np.where(np.isin(new, self._keys), 0, self._forgotten)
        keys, places = np.unique(np.concatenate([self._keys, new]), return_inverse=True)
        self._counts = np.bincount(places, np.concatenate([self._counts, counts])).astype(np.int64)
        self._keys = keys
        while len(self._keys) > MOST_CELLS:
            self._forgotten += 1
            kept = self._counts > self._forgotten
            self._keys, self._counts = self._keys[kept], self._counts[kept]
