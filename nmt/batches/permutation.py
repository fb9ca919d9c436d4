"""A random order of many items that is computed item by item, so that no array of all of them is needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

_ROUNDS = 8
_LEAST_BITS = 8
"""Bits of the smallest domain: fewer would mix too little."""
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""The factors of the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""


@dataclass(frozen=True)
class Permutation:
    """A keyed permutation of the numbers 0 to `size` - 1.

    A Feistel network (Luby and Rackoff 1988) permutes the next larger power of two. A result beyond `size` goes through
    the network again until it is below `size` (cycle walking, Black and Rogaway 2002). That is at most two rounds of
    the network for each number on average, except for very small sizes.

    Args:
        size: numbers that are permuted.
        key: whole numbers from 0. Each key gives another order.
    """

    size: int
    key: tuple[int, ...]

    @cached_property
    def _bits(self) -> tuple[int, int]:
        """Bits of the left and of the right half."""
        bits = max((self.size - 1).bit_length(), _LEAST_BITS)
        return bits // 2, bits - bits // 2

    @cached_property
    def _round_keys(self) -> np.ndarray:
        return np.random.SeedSequence(self.key).generate_state(_ROUNDS, np.uint64)

    def __call__(self, places: np.ndarray) -> np.ndarray:
        """The numbers at some places of the order.

        Args:
            places: from 0 to `size` - 1, int64 [places].

        Returns:
            int64 [places].
        """
        found = self._network(places.astype(np.uint64))
        beyond = np.flatnonzero(found >= self.size)
        while len(beyond):
            found[beyond] = self._network(found[beyond])
            beyond = beyond[found[beyond] >= self.size]
        return found.astype(np.int64)

    def _network(self, numbers: np.ndarray) -> np.ndarray:
        """A permutation of the power of two. Each round adds a hash of one half to the other half, bit by bit."""
        left_bits, right_bits = self._bits
        right_mask = np.uint64((1 << right_bits) - 1)
        left, right = numbers >> np.uint64(right_bits), numbers & right_mask
        for number, key in enumerate(self._round_keys):
            if number % 2:
                right = right ^ (_mixed(left, key) >> np.uint64(64 - right_bits))
            else:
                left = left ^ (_mixed(right, key) >> np.uint64(64 - left_bits))
        return (left << np.uint64(right_bits)) | right


def _mixed(values: np.ndarray, key: np.uint64) -> np.ndarray:
    """A hash of 64 bits of each value; its upper bits are the best ones."""
    mixed = values ^ key
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FACTORS[0]
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _FACTORS[1]
    return mixed ^ (mixed >> np.uint64(31))
