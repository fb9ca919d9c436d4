"""New training pairs, made of phrases of the given pairs (`training.recombine`).

Two phrases that occur between equal words are interchangeable (Andreas 2020, Good-Enough Compositional Data
Augmentation). Word links keep both sides of a new pair parallel.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, repeat
from typing import NamedTuple

from nmt.alignment.links import Links
from nmt.alignment.pharaoh_and_naacl import format_pharaoh, parse_pharaoh
from nmt.alignment.phrases import Phrase, phrases
from nmt.progress import LineProgress, counted
from nmt.text.languages.words import Words, word_spans
from nmt.text.pairs import Pair
from nmt.text.spread_sample import SpreadSample

LONGEST = 4
"""Words of the longest phrase, on either side."""
EXCHANGES = 3
"""Phrases that are exchanged in one pair at most."""
SAMPLE = 50_000
"""Pairs whose phrases are kept in memory."""

Context = tuple[str, str, str, str]
"""The words before and behind a phrase, of the source and of the target."""


class Fragment(NamedTuple):
    """The words of a phrase, each with the space before it, and the links between them."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: Links


class Splice(NamedTuple):
    """Words that replace the words from `begin` to `end`."""

    begin: int
    end: int
    words: tuple[str, ...]


class LinkedWords:
    """The words of a pair, its links, and its phrases with their contexts."""

    def __init__(self, pair: Pair, words: tuple[Words, Words]) -> None:
        self._words = words
        self.source = spaced_words(pair.source, words[0])
        self.target = spaced_words(pair.target, words[1])
        self.links = parse_pharaoh(pair.links or "", "links").possible
        contexts = {phrase: self._context(phrase) for phrase in phrases(self.links, LONGEST)}
        self.phrases = {phrase: words for phrase, words in contexts.items() if any(words[:2]) and any(words[2:])}
        """The context of each phrase that is not a whole side."""

    def _context(self, phrase: Phrase) -> Context:
        source, target = self.source, self.target
        return (
            _word(source, phrase.source_begin - 1),
            _word(source, phrase.source_end),
            _word(target, phrase.target_begin - 1),
            _word(target, phrase.target_end),
        )

    def fragment(self, phrase: Phrase) -> Fragment:
        """The words and links of one of its phrases."""
        links = frozenset(
            (s - phrase.source_begin, t - phrase.target_begin)
            for s, t in self.links
            if phrase.source_begin <= s < phrase.source_end
        )
        source = self.source[phrase.source_begin : phrase.source_end]
        return Fragment(tuple(source), tuple(self.target[phrase.target_begin : phrase.target_end]), links)

    def with_fragments(self, chosen: list[tuple[Phrase, Fragment]]) -> Pair | None:
        """The pair with other words in place of some phrases, which do not overlap.

        None where a side is cut into other words than these, as can be without spaces: its links would be wrong.
        """
        of_source = [Splice(old.source_begin, old.source_end, new.source) for old, new in chosen]
        of_target = [Splice(old.target_begin, old.target_end, new.target) for old, new in chosen]
        source, source_places, source_begins = spliced(self.source, of_source)
        target, target_places, target_begins = spliced(self.target, of_target)
        links = {
            (source_places[s], target_places[t]) for s, t in self.links if s in source_places and t in target_places
        }
        for s, t, (_, fragment) in zip(source_begins, target_begins, chosen, strict=True):
            links.update((s + one, t + two) for one, two in fragment.links)
        new = Pair("".join(source).strip(), "".join(target).strip(), links=format_pharaoh(links))
        sides = zip((source, target), new[:2], self._words, strict=True)
        return new if all(_bare(words) == _bare(spaced_words(text, cut)) for words, text, cut in sides) else None


class Recombination:
    """Makes new pairs, in which phrases of other pairs replace some of a pair's own.

    Args:
        pairs: the pairs with their links; their phrases are the replacements.
        words: how the words of source and target are cut.
        count: number of new pairs for each pair; 0 changes nothing, and the pairs are not read.
        seed: of the random choices.
        refused: whether a new pair is left out, such as a near-duplicate of a held-out pair; None: none is.
    """

    def __init__(
        self,
        pairs: Iterable[Pair],
        words: tuple[Words, Words],
        count: int,
        seed: int,
        refused: Callable[[Pair], bool] | None = None,
    ) -> None:
        self._words, self._count, self._seed, self._refused = words, count, seed, refused
        self._given: set[tuple[str, str]] = set()
        """Source and target of each pair whose phrases are in memory: a new pair is none of them."""
        self._interchangeable = self._group(pairs) if count else {}
        self.made = self.repeated = 0
        """New pairs of the last iteration of `over`, and repetitions of given pairs."""
        self.example: Pair | None = None
        """The first of them."""

    def over(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Hands the pairs on, each followed by its new pairs.

        A pair with too few replaceable phrases is repeated in their place, so that each pair gives
        `1 + count` pairs. Each call makes equal pairs.
        """
        choice = random.Random(self._seed)
        self.made, self.repeated, self.example = 0, 0, None
        for pair in pairs:
            yield pair
            new = self._new_pairs(pair, choice) if self._count else []
            self.made += len(new)
            self.repeated += self._count - len(new)
            self.example = self.example or next(iter(new), None)
            yield from new
            yield from repeat(pair, self._count - len(new))

    def summary(self) -> str:
        """A line on the new pairs of the last iteration."""
        example = f"; the first: {self.example.source} | {self.example.target}" if self.example else ""
        repeated = f", and {counted(self.repeated, 'repetition')} of pairs without enough phrases" * bool(self.repeated)
        return f"{counted(self.made, 'new pair')} made of their phrases{repeated}{example}"

    def _group(self, pairs: Iterable[Pair]) -> dict[Context, list[Fragment]]:
        """The different fragments of each context that has several."""
        sample: SpreadSample[Pair] = SpreadSample(SAMPLE)
        for _ in sample.over(pairs):
            pass
        self._given.update(pair[:2] for pair in sample.kept)
        once, again = set[int](), set[int]()  # most contexts occur once, and their fragments would need much memory
        for linked in self._linked(sample.kept, "counting phrases"):
            for code in map(hash, linked.phrases.values()):
                (again if code in once else once).add(code)
        found: dict[Context, dict[Fragment, None]] = {}  # a dictionary keeps the order, a set does not
        for linked in self._linked(sample.kept, "collecting phrases"):
            for phrase, context in linked.phrases.items():
                if hash(context) in again:
                    found.setdefault(context, {})[linked.fragment(phrase)] = None
        return {context: list(fragments) for context, fragments in found.items() if len(fragments) > 1}

    def _linked(self, pairs: list[Pair], task: str) -> Iterator[LinkedWords]:
        """The words of each pair, with a line of progress."""
        progress = LineProgress(len(pairs), task=task, unit="pairs")
        return (LinkedWords(pair, self._words) for pair in progress.over(pairs))

    def _new_pairs(self, pair: Pair, choice: random.Random) -> list[Pair]:
        """Different pairs that are not given, at most `count`."""
        linked = LinkedWords(pair, self._words)
        replaceable = [phrase for phrase, context in linked.phrases.items() if context in self._interchangeable]
        made: dict[Pair, None] = {}
        for _ in range(self._count if replaceable else 0):
            chosen = apart(choice.sample(replaceable, len(replaceable)), choice.randint(1, EXCHANGES))
            new = linked.with_fragments([(phrase, self._other(linked, phrase, choice)) for phrase in chosen])
            if new:
                made[new] = None
        new_ones = [new for new in made if new[:2] not in self._given]
        return [new for new in new_ones if not self._refused(new)] if self._refused else new_ones

    def _other(self, linked: LinkedWords, phrase: Phrase, choice: random.Random) -> Fragment:
        """A fragment that may replace a phrase, and differs from it."""
        own, group = linked.fragment(phrase), self._interchangeable[linked.phrases[phrase]]
        while (other := choice.choice(group)) == own:  # a group has another one
            pass
        return other


def spaced_words(text: str, words: Words) -> list[str]:
    """The words of a sentence, each with a space before it if there is one in the sentence."""
    spans = word_spans(text, words(text))
    ends = [0, *(end for _, end in spans)]
    return [" " * (begin > before) + text[begin:end] for before, (begin, end) in zip(ends, spans, strict=False)]


def _bare(words: Iterable[str]) -> list[str]:
    """The words without the spaces before them."""
    return [word.strip() for word in words]


def apart(candidates: Iterable[Phrase], most: int) -> list[Phrase]:
    """The first candidates, `most` at most, that have a word between each other on both sides."""
    chosen: list[Phrase] = []
    for phrase in candidates:
        if all(_are_apart(phrase, other) for other in chosen):
            chosen.append(phrase)
        if len(chosen) == most:
            break
    return chosen


def spliced(words: list[str], splices: list[Splice]) -> tuple[list[str], dict[int, int], list[int]]:
    """The words with all splices, the new position of each word that is left, and where each splice begins.

    Args:
        words: of a sentence.
        splices: do not overlap.
    """
    new: list[str] = []
    places: dict[int, int] = {}
    begins: dict[int, int] = {}
    ordered = sorted(splices)
    kept = pairwise([0, *(border for splice in ordered for border in splice[:2]), len(words)])
    for number, (begin, end) in enumerate(kept):
        if number % 2:
            begins[begin] = len(new)
            new.extend(ordered[number // 2].words)
        else:
            places.update({old: len(new) + old - begin for old in range(begin, end)})
            new.extend(words[begin:end])
    return new, places, [begins[splice.begin] for splice in splices]


def _word(words: list[str], position: int) -> str:
    """A word without its space; "" before and behind the sentence."""
    return words[position].strip() if 0 <= position < len(words) else ""


def _are_apart(one: Phrase, other: Phrase) -> bool:
    on_source = one.source_end < other.source_begin or other.source_end < one.source_begin
    return on_source and (one.target_end < other.target_begin or other.target_end < one.target_begin)
