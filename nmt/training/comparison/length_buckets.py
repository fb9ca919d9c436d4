"""BLEU by the length of the source sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nmt.evaluation.bleu_and_chrf import bleu

BUCKET_WORDS = 5
"""Sentence lengths, in words, that share a bucket."""

LEAST_SENTENCES = 20
"""A bucket with fewer sentences is merged with the bucket before it."""


class Bucket(NamedTuple):
    """The test sentences of similar length."""

    label: str
    """The range of lengths in words, such as 6-10."""
    lines: list[int]
    """Lines of the test set, from 0."""


def length_buckets(lengths: Sequence[int]) -> list[Bucket]:
    """Groups sentences by their length in words, from short to long."""
    ranges: list[tuple[int, int, list[int]]] = []  # first length, last length, lines
    for low in range(1, max(lengths, default=0) + 1, BUCKET_WORDS):
        high = low + BUCKET_WORDS - 1
        lines = [i for i, length in enumerate(lengths) if low <= length <= high]
        if ranges and (len(lines) < LEAST_SENTENCES or len(ranges[-1][2]) < LEAST_SENTENCES):
            first, _, before = ranges.pop()
            ranges.append((first, high, before + lines))
        elif lines:
            ranges.append((low, high, lines))
    return [Bucket(f"{low}-{high}", lines) for low, high, lines in ranges]


def bleu_by_bucket(
    buckets: Sequence[Bucket], translations: Sequence[str], references: Sequence[str], tokenize: str
) -> list[float]:
    """BLEU of the sentences in each bucket."""
    return [
        bleu([translations[i] for i in lines], [references[i] for i in lines], tokenize).value for _, lines in buckets
    ]
