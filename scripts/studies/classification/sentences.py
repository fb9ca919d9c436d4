"""Sentences of the demo grammar, each with a label that depends on two distant words."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from corpora.demo_grammar.corpus import LONGEST
from corpora.demo_grammar.lexicon import Lexicon
from nmt import NmtError

PATIENCE = 60
"""Sentences read per example before giving up."""
PAD, UNKNOWN = 0, 1


class Example(NamedTuple):
    """A sentence and its label."""

    words: tuple[str, ...]
    deciding: tuple[int, int]
    """Positions of the first and the last determiner."""
    case: tuple[bool, bool]
    """Whether each of these two is "the"."""
    between: int
    """Number of determiners between them."""

    @property
    def label(self) -> bool:
        """Whether the two words agree: both are "the", or both are another determiner."""
        return self.case[0] == self.case[1]


def determiners(lexicon: Lexicon) -> frozenset[str]:
    """Forms that are determiners only: `her` is a pronoun too, and another determiner follows `all`."""
    return frozenset(lexicon.determiners) - {"her", "all"} | {"an"}


def find_example(sentence: str, forms: frozenset[str], distance: int) -> Example | None:
    """The example of a sentence in lower case; None if it contains "her", or has no two determiners that are `distance`
    words apart or more."""
    words = tuple(sentence.lower().split())
    positions = [position for position, word in enumerate(words) if word in forms]
    if "her" in words or len(positions) < 2 or positions[-1] - positions[0] < distance:
        return None
    first, last = positions[0], positions[-1]
    return Example(words, (first, last), (words[first] == "the", words[last] == "the"), len(positions) - 2)


def balanced(sentences: Iterator[str], forms: frozenset[str], distance: int, count: int) -> list[Example]:
    """`count` examples; the four cases alternate, so that every 4 k first examples have equally many of each.

    Raises:
        NmtError: `PATIENCE` sentences per example are too few.
    """
    cases: dict[tuple[bool, bool], list[Example]] = {(a, b): [] for a in (False, True) for b in (False, True)}
    per_case = count // len(cases)
    for sentence in islice(sentences, PATIENCE * count):
        example = find_example(sentence, forms, distance)
        if example is not None and len(cases[example.case]) < per_case:
            cases[example.case].append(example)
            if all(len(found) == per_case for found in cases.values()):
                return [example for turn in zip(*cases.values(), strict=True) for example in turn]
    fewest = min(len(found) for found in cases.values())
    raise NmtError(
        f"only {fewest} of {PATIENCE * count} sentences are of the rarest case, but {per_case} are needed: "
        "lower --distance, or ask for fewer sentences"
    )


def index_words(examples: Iterable[Example]) -> dict[str, int]:
    """Ids of the words, from 2; the lower ids stand for padding and unknown words."""
    words = sorted({word for example in examples for word in example.words})
    return {word: number for number, word in enumerate(words, start=UNKNOWN + 1)}


def as_arrays(examples: Sequence[Example], index: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Word ids, int32 [examples, longest], and labels, float32 [examples]."""
    ids = np.full((len(examples), LONGEST), PAD, dtype=np.int32)
    for row, example in enumerate(examples):
        ids[row, : len(example.words)] = [index.get(word, UNKNOWN) for word in example.words]
    return ids, np.array([example.label for example in examples], dtype=np.float32)


def count_words(ids: np.ndarray, words: int) -> np.ndarray:
    """Counts of each word, float32 [sentences, words]; padding counts 0."""
    counts = np.zeros((len(ids), words), dtype=np.float32)
    np.add.at(counts, (np.arange(len(ids))[:, None], ids), 1.0)
    counts[:, PAD] = 0.0
    return counts


def chance(examples: Sequence[Example]) -> float:
    """The share of weight on the two words under equal weights: two of the words of each sentence."""
    return statistics.mean(2 / len(example.words) for example in examples)
