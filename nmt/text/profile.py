"""The profile of a training text: the usual properties of its sides, so that other text can be compared with them."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from nmt.text.cleaning.features import scripts_of
from nmt.text.sentences import split_sentences
from nmt.text.tokenizer import Tokenizer

MARKS = ",.;:!?"
"""Punctuation that is counted with and without a space before it."""

_MARK = re.compile(rf"(\s?)([{re.escape(MARKS)}])(?=\s|$)")
_SEEN = 1e-3
"""A script belongs to a text from this share of its letters on."""
_PRIOR = 0.5
"""Count that is added to each piece's."""
UNREADABLE = 0.02
"""Share of unknown pieces from which a text counts as unreadable."""
_USUAL = 0.99
"""Share of the lines that have at most `most_sentences` sentences."""
_LARGEST = 2**53
"""No count is larger; float64 holds it exactly."""


@dataclass(frozen=True)
class Punctuation:
    """How often a mark at the end of a word is separate, as in `garden .`, and attached, as in `garden.`."""

    separate: int = 0
    attached: int = 0

    def __add__(self, other: Punctuation) -> Punctuation:
        return Punctuation(self.separate + other.separate, self.attached + other.attached)

    @property
    def share(self) -> float:
        """The share of separate marks; 0 without marks."""
        return self.separate / max(self.separate + self.attached, 1)


@dataclass(frozen=True)
class SideProfile:
    """One side of a text."""

    lines: int
    words: int
    letters: dict[str, int]
    """Letters of each script, see `scripts_of`."""
    upper: int
    """Upper-case letters."""
    lower: int
    """Lower-case letters."""
    marks: dict[str, Punctuation]
    """For each of `MARKS` that occurs."""
    sentences: float
    """Mean sentences per line."""
    most_sentences: int
    """99 of 100 lines have no more sentences than that."""
    unreadable: int
    """Unknown pieces, and pieces that are single bytes."""
    pieces: list[int]
    """How often each piece occurs, by id."""

    @property
    def scripts(self) -> frozenset[str]:
        """The scripts of the text; a few foreign letters are none of them."""
        total = sum(self.letters.values())
        return frozenset(script for script, count in self.letters.items() if count >= _SEEN * total)

    @property
    def unreadable_share(self) -> float:
        """The share of unknown pieces."""
        return self.unreadable / max(sum(self.pieces), 1)

    @property
    def upper_share(self) -> float:
        """The share of upper-case letters among the letters that have a case."""
        return self.upper / max(self.upper + self.lower, 1)

    @property
    def separate_share(self) -> float:
        """The share of commas and full stops with a space before them.

        Other marks do not count: French writes a space before ! ? : and ; in ordinary text.
        """
        return sum((self.marks.get(mark, Punctuation()) for mark in ",."), Punctuation()).share

    @cached_property
    def log_probabilities(self) -> np.ndarray:
        """The logarithm of each piece's probability, float64 [pieces]."""
        counts = np.array(self.pieces, float) + _PRIOR
        return np.log(counts / counts.sum())

    @classmethod
    def measure(cls, lines: Sequence[str], vocabulary: Tokenizer, language: str = "") -> SideProfile:
        """The profile of these lines.

        Args:
            lines: a sample of the text.
            vocabulary: the side's, which cuts text into the words of its language.
            language: for the ends of sentences, see `split_sentences`.
        """
        text = "\n".join(lines)
        characters = Counter(text)
        ids = np.fromiter(chain.from_iterable(vocabulary.encode(lines)), np.int64)
        counts = np.bincount(ids, minlength=vocabulary.size)
        unspaced = bool(vocabulary.words.name)
        ends = sorted(len(split_sentences(line, language, unspaced)) for line in lines if line.strip()) or [1]
        return cls(
            lines=len(lines),
            words=sum(len(line.split()) for line in lines),
            letters=dict(scripts_of(text)),
            upper=sum(count for character, count in characters.items() if character.isupper()),
            lower=sum(count for character, count in characters.items() if character.islower()),
            marks=count_marks(text),
            sentences=sum(ends) / len(ends),
            most_sentences=ends[min(int(_USUAL * len(ends)), len(ends) - 1)],
            unreadable=int(counts[vocabulary.unreadable].sum()),
            pieces=counts.tolist(),
        )

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> SideProfile:
        """Reads the values that `dataclasses.asdict` gives.

        Raises:
            KeyError, TypeError, AttributeError, ValueError: values of another form.
        """
        given = {field.name: values[field.name] for field in dataclasses.fields(cls)}
        given["marks"] = {mark: Punctuation(**counts) for mark, counts in given["marks"].items()}
        if not isinstance(given["pieces"], list):
            raise TypeError("pieces: expected a list")
        of_marks = [count for mark in given["marks"].values() for count in (mark.separate, mark.attached)]
        several = {"letters": given["letters"].values(), "marks": of_marks, "pieces": given["pieces"]}
        for name in given:
            _require_counts(name, several.get(name, [given[name]]), (int, float) if name == "sentences" else (int,))
        return cls(**given)


@dataclass(frozen=True)
class TextProfile:
    """Both sides of a training text, and how well its pieces tell them apart."""

    source: SideProfile
    target: SideProfile
    source_leaning: float
    """The source side's nats per character in favour of the target side, see `swapped_sides`: below 0."""
    target_leaning: float
    """The target side's: above 0."""

    def to_json(self) -> dict[str, Any]:
        """The profile as plain values, ready for `json.dumps`."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TextProfile:
        """Reads the values that `to_json` gives.

        Raises:
            KeyError, TypeError, AttributeError, ValueError: values of another form.
        """
        source, target = (SideProfile.from_json(values[side]) for side in ("source", "target"))
        leanings = [float(values[f"{side}_leaning"]) for side in ("source", "target")]
        if not all(map(math.isfinite, leanings)):
            raise ValueError(f"leanings are {leanings}: expected finite numbers")
        return cls(source, target, *leanings)


def _require_counts(name: str, values: Iterable[Any], types: tuple[type, ...]) -> None:
    """Refuses values that count nothing.

    Raises:
        ValueError: a value of another type, below 0, not finite or immense.
    """
    for value in values:
        if type(value) not in types or not 0 <= value <= _LARGEST:
            raise ValueError(f"{name}: expected a number, 0 or more, not {value!r:.20}")


def count_marks(text: str) -> dict[str, Punctuation]:
    """How often each of `MARKS` ends a word of a text, with and without a space before it."""
    found = Counter((mark, bool(space)) for space, mark in _MARK.findall(text))
    marks = sorted({mark for mark, _ in found})
    return {mark: Punctuation(found[mark, True], found[mark, False]) for mark in marks}
