"""Held-out pairs for validation or tests, and the training pairs that remain.

Corpora of everyday sentences contain many near-duplicates. A model that was trained on one of them knows the others.
So a training pair that is a near-duplicate of a held-out pair is removed, and the score measures unseen sentences.
"""

from __future__ import annotations

import hashlib
import heapq
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from nmt.progress import counted
from nmt.text.errors import CorpusError
from nmt.text.near_duplicates import similarity_keys
from nmt.text.pairs import Pair


def _fewer(count: int) -> str:
    """The flags that hold out `count` pairs."""
    return (
        f"hold out fewer, such as {count} (nmt train: --corpus.held_out {count}, or --recipe auto, which fits sizes "
        f"to the text, or validation pairs of your own; nmt hold-out: --pairs {count})"
    )


def _compared(source: str) -> str:
    """A source as it is compared with others: models read these forms alike."""
    return " ".join(unicodedata.normalize("NFC", source).split())


def hold_out(pairs: Iterable[Pair], count: int, seed: int) -> list[Pair]:
    """Chooses `count` pairs with distinct sources at random, in one reading and with memory for `count` pairs.

    The pairs whose sources have the smallest keyed hashes are chosen, smallest first. So the choice depends on the seed
    and on the set of sources, and not on their order. A smaller `count` chooses the first of these pairs.
    `WithoutHeldOut` has the remaining pairs.

    Raises:
        CorpusError: there are not more than `count` different sources.
    """
    chosen, left_over = smallest_sources(pairs, count, seed)
    require_left_over(chosen, count, left_over)
    return chosen


def smallest_sources(pairs: Iterable[Pair], count: int, seed: int) -> tuple[list[Pair], bool]:
    """The pairs that `hold_out` chooses, and whether there are further sources.

    Parts of a text can be read one by one: among the chosen pairs of all parts are those of the text.
    """
    chosen: dict[int, Pair] = {}
    ranks: list[int] = []  # a heap of negated hashes: its top is dropped next
    left_over = False
    for pair in pairs:
        digest = hashlib.blake2b(_compared(pair.source).encode(), digest_size=16, key=str(seed).encode()).digest()
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
    return [chosen[rank] for rank in sorted(chosen, reverse=True)], left_over


def require_left_over(chosen: Sequence[Pair], count: int, left_over: bool) -> None:
    """Refuses held-out pairs beside which no pair is left to train on.

    Raises:
        CorpusError: there are not more than `count` different sources.
    """
    if not chosen:
        raise CorpusError("there are no sentence pairs to hold out: the text is empty")
    if not left_over and len(chosen) == 1:
        raise CorpusError("the text has only one source sentence, so no pair can be held out: give more text")
    if not left_over:
        raise CorpusError(
            f"{counted(count, 'pair')} cannot be held out: there are only {len(chosen):,} different sources; "
            f"{_fewer(max(len(chosen) // 10, 1))}"
        )


def require_enough_left(held_out: int, count: int, remedy: str = "") -> None:
    """Refuses to hold out more of the `count` pairs than are left; `remedy` ends the message.

    Raises:
        CorpusError: names a smaller number.
    """
    if held_out > count / 2:
        raise CorpusError(
            f"{held_out:,} of {count:,} pairs would be held out for validation, which leaves few for training: give "
            f"--corpus.held_out {max(count // 10, 1)}{remedy}"
        )


class WithoutHeldOut:
    """The pairs without near-duplicates of held-out pairs on either side. Each iteration reads `pairs` again.

    Args:
        pairs: all pairs, the held-out pairs among them.
        held_out: the pairs that `hold_out` chose.
        near: whether near-duplicates are removed; otherwise only pairs with the source of a held-out pair are.

    Raises:
        CorpusError: at the end of an iteration that yielded no pair.
    """

    def __init__(self, pairs: Iterable[Pair], held_out: Sequence[Pair], near: bool = True) -> None:
        self.kept = 0
        """Pairs that the last complete iteration yielded."""
        self.removed = 0
        """Pairs that the last complete iteration removed, the held-out pairs among them."""
        self._pairs, self._count, self._near = pairs, len(held_out), near
        if near:
            self._sources = frozenset(key for pair in held_out for key in similarity_keys(pair.source))
            self._targets = frozenset(key for pair in held_out for key in similarity_keys(pair.target))
        else:
            self._equal = frozenset(_compared(pair.source) for pair in held_out)

    def __iter__(self) -> Iterator[Pair]:
        kept = removed = 0
        for pair in self._pairs:
            if self.repeats(pair):
                removed += 1
            else:
                kept += 1
                yield pair
        if not kept:
            raise CorpusError(
                f"all {removed:,} training pairs are near-duplicates of held-out pairs; "
                f"{_fewer(max(self._count // 2, 1))}; or keep them in training: nmt train --corpus.near_duplicates keep"
            )
        self.kept, self.removed = kept, removed

    def repeats(self, pair: Pair) -> bool:
        """Whether a pair is a held-out pair, or a near-duplicate of one."""
        if not self._near:
            return _compared(pair.source) in self._equal
        return not (
            self._sources.isdisjoint(similarity_keys(pair.source))
            and self._targets.isdisjoint(similarity_keys(pair.target))
        )
