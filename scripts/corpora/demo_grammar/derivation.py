"""The machinery of a derivation: registered productions, weighted choice, and the lemma pairs a sentence combines."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

from .lexicon import Adjective, Lexicon, Name, Noun, Row, Verb

Item = TypeVar("Item")

# Rank r within its kind has weight 1000 / (r + FLATTENING). This flattens Zipf's law, so that 20,000 sentences
# show even the rarest lemma often enough to be learnt.
FLATTENING = 40


@dataclass(frozen=True)
class Production:
    """One way to expand a category, with its relative weight."""

    category: str
    name: str
    weight: int
    expand: Callable[..., Any]


PRODUCTIONS: dict[str, list[Production]] = {}


def production(category: str, weight: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as a production of a category."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PRODUCTIONS.setdefault(category, []).append(Production(category, function.__name__, weight, function))
        return function

    return register


class Blocked(Exception):
    """The choices have no continuation, or an ambiguous one: start the sentence again."""


class Derivation:
    """The state of one sentence: its random choices, the lemma pairs it combines and how deep it is nested."""

    def __init__(self, lexicon: Lexicon, rng: random.Random) -> None:
        self.lexicon = lexicon
        self.rng = rng
        self.combinations: list[tuple[str, str, str]] = []
        self.used: list[str] = []
        self.nested = False  # inside a modifier, where no further modifier is allowed
        self.relative = False  # whether there is a relative clause, to which a later time could belong
        self.free_they = True  # "they" may still mean people outside the sentence

    def expand(self, category: str, *arguments: Any) -> Any:
        """Expand a category by one of its productions."""
        options = PRODUCTIONS[category]
        chosen = options[self.draw([option.weight for option in options])]
        self.used.append(f"{category}: {chosen.name}")
        return chosen.expand(self, *arguments)

    def draw(self, weights: Sequence[int]) -> int:
        """An index with probability proportional to its (integer) weight."""
        totals = list(accumulate(weights))
        return bisect(totals, int(self.rng.random() * totals[-1]))

    def chance(self, percent: int) -> bool:
        """True with a probability in percent."""
        return self.rng.random() * 100 < percent

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items, the first ones somewhat more often."""
        if not items:
            raise Blocked
        return items[self.draw([1000 // (rank + FLATTENING) for rank in range(len(items))])]

    def even(self, items: Sequence[Item]) -> Item:
        """One of the items, all equally often."""
        if not items:
            raise Blocked
        return items[int(self.rng.random() * len(items))]

    def noun(self, kinds: frozenset[str]) -> Noun:
        """A noun of the given kinds."""
        return self.pick_by_kind([noun for noun in self.lexicon.nouns if noun.fits(kinds)])

    def pick_by_kind(self, nouns: Sequence[Noun]) -> Noun:
        """A noun; its rank is its position within its own kind."""
        if not nouns:
            raise Blocked
        seen: dict[str, int] = {}
        weights = []
        for noun in nouns:
            rank = seen[noun.kind] = seen.get(noun.kind, -1) + 1
            weights.append(1000 // (rank + FLATTENING))
        return nouns[self.draw(weights)]

    def adjective(self, noun: Noun, **wanted: bool) -> Adjective:
        """An adjective that can be said of a noun."""
        suitable = [a for a in self.lexicon.adjectives if noun.fits(a.kinds)]
        return self.pick([a for a in suitable if all(getattr(a, key) == value for key, value in wanted.items())])

    def verb(self, frames: Sequence[str], subject: frozenset[str]) -> Verb:
        """A verb with one of the frames and a subject of one of the kinds."""
        return self.pick([verb for verb in self.lexicon.verbs if verb.frame in frames and verb.subject & subject])

    def name(self, kind: str) -> Name:
        """A proper name."""
        return self.pick([name for name in self.lexicon.names if name.kind == kind])

    def row(self, table: str, **columns: str) -> Row:
        """A row of a table of function words or fixed expressions."""
        return self.even(self.lexicon.rows(table, **columns))

    def combine(self, relation: str, first: str, second: str) -> None:
        """Record that the sentence combines two lemmas; a phrase without a head noun has no lemma."""
        if first and second:
            self.combinations.append((relation, first, second))
