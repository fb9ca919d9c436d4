"""Sentences of the demo's grammar with a label that two words far apart decide together."""

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
"""Sentences looked at for every sentence wanted, before giving up."""
PAD, UNKNOWN = 0, 1


class Example(NamedTuple):
    """A sentence and what is to be said of it."""

    words: tuple[str, ...]
    deciding: tuple[int, int]
    """Positions of the first and the last determiner."""
    case: tuple[bool, bool]
    """Whether these two are "the"."""
    between: int
    """Determiners between them."""

    @property
    def label(self) -> bool:
        """Whether both are "the" or neither is."""
        return self.case[0] == self.case[1]


def determiners(lexicon: Lexicon) -> frozenset[str]:
    """Forms that are determiners and nothing else: `her` is a pronoun too, and `all` has another one after it."""
    return frozenset(lexicon.determiners) - {"her", "all"} | {"an"}


def find_example(sentence: str, forms: frozenset[str], distance: int) -> Example | None:
    """The example that a sentence makes, in small letters; None where it has "her", or no two determiners `distance`
    words apart or more."""
    words = tuple(sentence.lower().split())
    places = [place for place, word in enumerate(words) if word in forms]
    if "her" in words or len(places) < 2 or places[-1] - places[0] < distance:
        return None
    first, last = places[0], places[-1]
    return Example(words, (first, last), (words[first] == "the", words[last] == "the"), len(places) - 2)


def balanced(sentences: Iterator[str], forms: frozenset[str], distance: int, count: int) -> list[Example]:
    """`count` examples, each of the four cases equally often, in turns: so in the first 4 k, too.

    Raises:
        NmtError: `PATIENCE` sentences for every one wanted do not give as many.
    """
    cases: dict[tuple[bool, bool], list[Example]] = {(a, b): [] for a in (False, True) for b in (False, True)}
    wanted = count // len(cases)
    for sentence in islice(sentences, PATIENCE * count):
        example = find_example(sentence, forms, distance)
        if example is not None and len(cases[example.case]) < wanted:
            cases[example.case].append(example)
            if all(len(found) == wanted for found in cases.values()):
                return [example for turn in zip(*cases.values(), strict=True) for example in turn]
    fewest = min(len(found) for found in cases.values())
    raise NmtError(
        f"of {PATIENCE * count} sentences only {fewest} are of the rarest case, {wanted} wanted: "
        "lower --distance, or ask for fewer sentences"
    )


def index_words(examples: Iterable[Example]) -> dict[str, int]:
    """Numbers of the words, from 2; before that padding and unknown words."""
    words = sorted({word for example in examples for word in example.words})
    return {word: number for number, word in enumerate(words, start=UNKNOWN + 1)}


def as_arrays(examples: Sequence[Example], index: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Word numbers, int32 [examples, longest], and labels, float32 [examples]."""
    numbers = np.full((len(examples), LONGEST), PAD, dtype=np.int32)
    for row, example in enumerate(examples):
        numbers[row, : len(example.words)] = [index.get(word, UNKNOWN) for word in example.words]
    return numbers, np.array([example.label for example in examples], dtype=np.float32)


def count_words(numbers: np.ndarray, words: int) -> np.ndarray:
    """How often each word occurs, float32 [sentences, words], padding never."""
    counts = np.zeros((len(numbers), words), dtype=np.float32)
    np.add.at(counts, (np.arange(len(numbers))[:, None], numbers), 1.0)
    counts[:, PAD] = 0.0
    return counts


def chance(examples: Sequence[Example]) -> float:
    """What `look` gives where all words of a sentence get the same, or one is drawn: two words of each sentence's."""
    return statistics.mean(2 / len(example.words) for example in examples)
