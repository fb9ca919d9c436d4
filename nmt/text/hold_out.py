"""Which pairs of a corpus are kept aside, to validate or to test on, and which of the others are then left to train on.

Corpora of everyday sentences have many that are nearly the same. A model that has seen one of them has seen the others,
so what is near to a pair kept aside is left out of training, and the score says what it seems to say.
"""

from __future__ import annotations

import hashlib
import heapq
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from nmt.text.errors import CorpusError
from nmt.text.pairs import Pair

SHORT = 5
"""Words from which on one may differ between sentences that are near; of fewer it is too much."""

FEWER = "(nmt hold-out --pairs, nmt train --corpus.held_out; or train with validation pairs of your own)"

_WORD = re.compile(r"\w(?:\S*\w)?")
"""What stands between spaces, without the punctuation around it."""


def hold_out(pairs: Iterable[Pair], count: int, seed: int) -> list[Pair]:
    """Chooses `count` pairs with distinct sources at random, in one pass and with memory for `count` pairs.

    They are those whose sources have the smallest keyed hashes, so the choice depends on the seed and on what the
    corpus holds, but not on its order, and the first of them are those that a smaller `count` chooses. `WithoutHeldOut`
    gives the others.

    Raises:
        CorpusError: there are not more than `count` different sources.
    """
    chosen: dict[int, Pair] = {}
    ranks: list[int] = []  # a heap of negated hashes: its top is the next to go
    left_over = False
    for pair in pairs:
        digest = hashlib.blake2b(pair.source.encode(), digest_size=16, key=str(seed).encode()).digest()
        rank = -int.from_bytes(digest, "big")
        if rank in chosen:
            continue
        if len(ranks) < count:
            heapq.heappush(ranks, rank)
            chosen[rank] = pair
            continue
        left_over = True
        if rank > ranks[0]:
            del chosen[heapq.heapreplace(ranks, rank)]
            chosen[rank] = pair
    if not chosen:
        raise CorpusError("there are no sentence pairs to keep some of aside: the text is empty")
    if not left_over:
        raise CorpusError(
            f"{count} pairs cannot be kept aside and others left: there are only {len(chosen)} different sources; "
            f"keep fewer aside, such as {max(len(chosen) // 10, 1)} {FEWER}"
        )
    return [chosen[rank] for rank in sorted(chosen, reverse=True)]


class WithoutHeldOut:
    """The pairs of which neither side is near (`traces`) to that side of a held-out pair; each iteration reads `pairs`
    again.

    Raises:
        CorpusError: after an iteration in which nothing was left.
    """

    def __init__(self, pairs: Iterable[Pair], held_out: Sequence[Pair]) -> None:
        self.kept = 0
        """Pairs given by the last complete iteration."""
        self.removed = 0
        """Pairs that it left out, the held-out ones among them."""
        self._pairs = pairs
        self._sources = frozenset(key for pair in held_out for key in similarity_keys(pair.source))
        self._targets = frozenset(key for pair in held_out for key in similarity_keys(pair.target))

    def __iter__(self) -> Iterator[Pair]:
        kept = removed = 0
        for pair in self._pairs:
            if self._sources.isdisjoint(similarity_keys(pair.source)) and self._targets.isdisjoint(
                similarity_keys(pair.target)
            ):
                kept += 1
                yield pair
            else:
                removed += 1
        if not kept:
            raise CorpusError(
                f"all {removed} training pairs have a side that is nearly one kept aside; keep fewer aside {FEWER}"
            )
        self.kept, self.removed = kept, removed


def similarity_keys(text: str) -> list[int]:
    """Numbers of a sentence; sentences that have one of theirs in common are near to each other.

    Near are sentences of the same words, in any order, case and punctuation aside. Where the longer one has `SHORT`
    words or more, also those of which one word less, one more or another makes that. Words are what spaces part, so of
    text that is written without any, all must be the same. So it must where there is no letter or digit.
    """
    words = [_number(word) for word in _WORD.findall(text.casefold().replace("’", "'"))] or [_number(text)]
    whole = sum(words)
    if len(words) < SHORT:
        return [whole]
    return [whole, *(whole - word for word in words)]


@lru_cache(maxsize=1 << 17)
def _number(word: str) -> int:
    """64 bits of a hash: sums of a few dozen of them are, as good as never, equal by chance."""
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
