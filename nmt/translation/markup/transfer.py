"""Takes the markup out of a request, and puts it into the translations.

The search sees text alone. Each pair of tags of the source then encloses the stretch of the translation that its words
are linked to. Every tag, code and placeholder is written exactly once, and pairs never cross.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Literal

from nmt.alignment.projection import Projection, Stretch
from nmt.alignment.word_alignment import WordAlignment
from nmt.run.directory import Run
from nmt.text.markup import MarkedText, parse_markup
from nmt.text.profile import TextProfile
from nmt.translation.markup.left_out import LeftOut, with_left_out
from nmt.translation.markup.stand_ins import can_read, stand_ins
from nmt.translation.markup.units import Unit, project_units, units_of
from nmt.translation.markup.writing import Mark, mark_of, write
from nmt.translation.request import TranslationRequest
from nmt.translation.result import Translation, TranslationList


class MarkupTransfer:
    """Markup of the requests to a run.

    Args:
        run: its vocabularies say which numbers the model reads.
        profile: the training text's, which has the words that stand in for placeholders.
    """

    def __init__(self, run: Run, profile: TextProfile | None) -> None:
        self._run, self._profile = run, profile
        self._stand_ins: list[str] | None = None

    def around(
        self,
        requests: Iterable[TranslationRequest],
        answer: Callable[[Iterator[TranslationRequest]], Iterator[list[Translation]]],
    ) -> Iterator[list[Translation]]:
        """The answers to requests with and without markup, in order.

        Args:
            requests: may be a stream.
            answer: answers requests without markup.
        """
        taken: deque[TakenMarkup | None] = deque()

        def plain() -> Iterator[TranslationRequest]:
            for request in requests:
                text, markup = self.take_out(request) if request.markup else (request, None)
                taken.append(markup)
                yield text

        for translations in answer(plain()):
            markup = taken.popleft()
            yield translations if markup is None else markup.put_back(translations)

    def take_out(self, request: TranslationRequest) -> tuple[TranslationRequest, TakenMarkup]:
        """The request for the text alone, and its markup."""
        assert request.markup is not None
        if self._stand_ins is None:
            self._stand_ins = stand_ins(self._run, self._profile)
        marked = parse_markup(request.text, request.markup)
        words = set(re.findall(r"\w+", request.text.lower()))
        free = iter([word for word in self._stand_ins if word.lower() not in words])
        chosen = {}
        for place, item in enumerate(marked.items):
            if item.kind == "placeholder":
                chosen[place] = next(free, "")
            elif item.kind == "number":
                chosen[place] = item.raw if can_read(self._run, item.raw) else ""
        text, spans = marked.render(lambda place: chosen[place])
        taken = TakenMarkup(request.text, marked, text, tuple(spans), chosen)
        return replace(request, text=text, markup=None, aligned=True), taken


@dataclass(eq=False)
class _Node:
    """A pair of tags or a code, at its place in the translation."""

    begin: int
    end: int
    place: int
    """The item of the source."""
    inside: list[_Node] = field(default_factory=list)

    @property
    def order(self) -> tuple[int, bool, int, int]:
        """Nodes are written in this order; a longer pair is before those that it encloses."""
        return self.begin, self.end > self.begin, -self.end, self.place

    def encloses(self, other: _Node) -> bool:
        """Whether a node behind this one in the order is within its stretch."""
        return self.end > self.begin and other.end <= self.end and other.begin < self.end


@dataclass(frozen=True)
class TakenMarkup:
    """The markup of a text."""

    source: str
    marked: MarkedText
    text: str
    """The text alone, with stand-ins."""
    spans: tuple[tuple[int, int], ...]
    """Where each item is in the text."""
    stand_ins: dict[int, str]
    """The word for each placeholder and number, by item; empty if it was left out."""

    def put_back(self, translations: Sequence[Translation]) -> TranslationList:
        """The translations with the markup. Alignments have the words without tags, and placeholders as words."""
        return TranslationList(self._with_markup(one) for one in translations)

    def _with_markup(self, translation: Translation) -> Translation:
        alignment = translation.alignment
        if not translation.text.strip():
            return replace(translation, source=self.source, text=self._without_text())
        source = units_of(self.text, alignment.source)
        target = units_of(translation.text, alignment.target)
        projection = project_units(alignment, source, target, (self.text, translation.text))
        found = _Placeholders(self, translation.text, source, target, projection)
        nodes = _Placing(self, source, projection, found.left_out).place()
        gaps: dict[int, list[Mark]] = {}
        _collect(nodes, self.marked, gaps)
        text = write(translation.text, [unit[:2] for unit in target], gaps, found.replaced, self.marked)
        changed = self._alignment(alignment, translation.text, target, found.replaced)
        read, written = self._left_out(source, target, nodes, found.left_out)
        return with_left_out(replace(translation, source=self.source, text=text, alignment=changed), read, written)

    def _without_text(self) -> str:
        """The markup alone, with the spaces of the source in it."""
        parts = (re.sub(r"\S+", "", item.raw)[:1] if item.kind == "text" else item.raw for item in self.marked.items)
        return "".join(parts).strip()

    def _left_out(
        self, source: Sequence[Unit], target: Sequence[Unit], nodes: Sequence[_Node], left_out: set[int]
    ) -> tuple[list[LeftOut], list[LeftOut]]:
        """The numbers and placeholders between spaces that are no words of the alignment, on both sides."""
        steps: tuple[Literal[-1, 1], ...] = (-1, 1)
        apart = [place for place in self.stand_ins if all(self.marked.touches_space(place, step) for step in steps)]
        raws = {place: self.marked.items[place].raw for place in apart}
        read = [
            LeftOut(_words_before(source, self.spans[place][0]), place, raws[place])
            for place in apart
            if not self.stand_ins[place]
        ]
        at = {node.place: node.begin for node in _with_inner(nodes)}
        written = [
            LeftOut(target[at[place]].word if at[place] < len(target) else _words_before(target), place, raws[place])
            for place in apart
            if place in left_out and not _is_within_word(target, at[place])
        ]
        return read, written

    def _alignment(
        self, alignment: WordAlignment, text: str, target: Sequence[Unit], replaced: dict[tuple[int, int], str]
    ) -> WordAlignment:
        """The alignment with placeholders in place of their stand-ins."""
        words = list(alignment.target)
        for (begin, end), raw in replaced.items():
            unit = next(unit for unit in target if unit.begin <= begin and end <= unit.end)
            words[unit.word] = words[unit.word].replace(text[begin:end], raw, 1) or raw
        ours = list(alignment.source)
        for place, word in self.stand_ins.items():
            for number, one in enumerate(ours):
                if word and word != self.marked.items[place].raw and re.search(rf"\b{re.escape(word)}\b", one):
                    ours[number] = one.replace(word, self.marked.items[place].raw)
        return replace(alignment, source=tuple(ours), target=tuple(words))


class _Placeholders:
    """Finds the stand-ins in a translation.

    Args:
        taken: the markup.
        text: the translation.
        source, target: the units of both sides.
        projection: between the units.
    """

    def __init__(
        self, taken: TakenMarkup, text: str, source: Sequence[Unit], target: Sequence[Unit], projection: Projection
    ) -> None:
        self.replaced: dict[tuple[int, int], str] = {}
        """Parts of the translation with what to write for them."""
        self.left_out: set[int] = set()
        """Items that must be placed like codes."""
        self._taken, self._text, self._target = taken, text, target
        for place, word in sorted(taken.stand_ins.items(), key=lambda one: -len(one[1])):  # 10:30 before 10
            item, span = taken.marked.items[place], taken.spans[place]
            spans = self._occurrences(word)
            if item.kind == "number" and spans:
                self.replaced[spans[0]] = item.raw
                continue
            ours = [number for number, unit in enumerate(source) if unit.begin < span[1] and span[0] < unit.end]
            if not spans and word:
                spans = self._linked(ours, projection)
            if not spans:
                self.left_out.add(place)
                continue
            linked = self._linked(ours, projection)
            best = next((one for one in spans if any(_overlap(one, other) for other in linked)), spans[0])
            self.replaced[best] = item.raw
            if word in (text[slice(*one)] for one in spans):  # a stand-in that comes twice is no word of the source
                self.replaced |= {one: "" for one in spans if one != best and len(spans) > 1}

    def _occurrences(self, word: str) -> list[tuple[int, int]]:
        """Where a word is in the translation, apart from those that are another's."""
        if not word:
            return []
        found = re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", self._text)
        spans = [match.span() for match in found]
        return [
            span
            for span in spans
            if not self._is_taken(span) and any(u.begin <= span[0] and span[1] <= u.end for u in self._target)
        ]

    def _linked(self, ours: Sequence[int], projection: Projection) -> list[tuple[int, int]]:
        """The word of the translation that source units are linked to."""
        found = projection.stretch(ours, Stretch(0, len(self._target)))
        units = self._target[found.begin : found.end] if found else []
        spans = [(unit.begin, unit.end) for unit in units if unit.part == 0]
        return [span for span in spans if not self._is_taken(span)][:1]

    def _is_taken(self, span: tuple[int, int]) -> bool:
        return any(_overlap(span, other) for other in self.replaced)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


class _Placing:
    """Finds the places of tags and codes in a translation.

    Args:
        taken: the markup.
        source: the units of the source.
        projection: from these units to those of the translation.
        codes: placeholders to place like codes.
    """

    def __init__(self, taken: TakenMarkup, source: Sequence[Unit], projection: Projection, codes: set[int]) -> None:
        self._taken, self._source, self._projection, self._codes = taken, source, projection, codes
        self._items = taken.marked.items

    def place(self) -> list[_Node]:
        """The pairs and codes of the whole text."""
        everything = Stretch(0, self._projection.target_words)
        return self._nodes(0, len(self._items), everything, frozenset(range(len(self._source))))

    def _nodes(self, first: int, end: int, within: Stretch, words: frozenset[int]) -> list[_Node]:
        """The pairs and codes between two items.

        Args:
            first, end: the items.
            within: the part of the translation that they belong into.
            words: the source units of that part.
        """
        pairs, codes = [], []
        place = first
        while place < end:
            item = self._items[place]
            if item.kind == "open":
                pairs.append(place)
                place = item.partner
            elif item.kind == "code" or place in self._codes:
                codes.append(place)
            place += 1
        enclosed = {place: self._enclosed(place) for place in pairs}
        stretches: dict[int, Stretch] = {}
        alone = {place: self._stretch(place, enclosed[place], within, words, []) for place in pairs}
        # the shortest first: a longer one may enclose it, or give way
        for place in sorted(pairs, key=lambda place: (alone[place].end - alone[place].begin, place)):
            taken = list(stretches.values())
            stretches[place] = self._stretch(place, enclosed[place], within, words, taken)
        nodes = [
            _Node(
                *stretches[place],
                place,
                self._nodes(place + 1, self._items[place].partner, stretches[place], enclosed[place]),
            )
            for place in pairs
        ]
        for place in codes:
            left = mark_of(self._taken.marked, place).side == "left"
            at = self._projection.place(self._before(place), within, list(stretches.values()), left)
            nodes.append(_Node(at, at, place))
        return _nested(nodes)

    def _stretch(
        self, place: int, enclosed: frozenset[int], within: Stretch, words: frozenset[int], taken: list[Stretch]
    ) -> Stretch:
        """The stretch of the translation that a pair encloses."""
        if enclosed == words:
            return within
        found = self._projection.stretch(enclosed, within, taken)
        if found is not None:
            return found
        at = self._projection.place(self._before(place), within, taken)
        return Stretch(at, at)

    def _enclosed(self, place: int) -> frozenset[int]:
        """The source units that a pair encloses, whole or in part."""
        begin, end = self._taken.spans[place][1], self._taken.spans[self._items[place].partner][0]
        return frozenset(number for number, unit in enumerate(self._source) if unit.begin < end and begin < unit.end)

    def _before(self, place: int) -> int:
        """The number of source units before an item."""
        at = self._taken.spans[place][0]
        return sum(unit.begin < at for unit in self._source)


def _with_inner(nodes: Iterable[_Node]) -> Iterator[_Node]:
    """Nodes and all nodes within them."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        waiting += node.inside
        yield node


def _words_before(units: Sequence[Unit], place: int | None = None) -> int:
    """The number of words that begin before a place; None: of all words."""
    return 1 + max((unit.word for unit in units if place is None or unit.begin < place), default=-1)


def _is_within_word(units: Sequence[Unit], number: int) -> bool:
    """Whether a place before a unit is between two units of one word."""
    return 0 < number < len(units) and units[number - 1].word == units[number].word


def _nested(nodes: Sequence[_Node]) -> list[_Node]:
    """The nodes in order; those within the stretch of another pair become part of it."""
    found: list[_Node] = []
    for node in sorted(nodes, key=lambda one: one.order):
        _insert(node, found)
    return found


def _insert(node: _Node, level: list[_Node]) -> None:
    """Adds a node to nodes in order, or to those within the one that encloses it, with the nodes that it encloses."""
    place = bisect_left(level, node.order, key=lambda one: one.order)
    while place and level[place - 1].encloses(node):
        level = level[place - 1].inside
        place = bisect_left(level, node.order, key=lambda one: one.order)
    within = list(takewhile(node.encloses, level[place:]))
    level[place : place + len(within)] = [node]
    for one in within:
        _insert(one, node.inside)


def _collect(nodes: Sequence[_Node], marked: MarkedText, gaps: dict[int, list[Mark]]) -> None:
    """Adds the marks of nodes to the places between units, in the order in which they are written."""
    ahead: list[_Node | tuple[int, int]] = list(reversed(nodes))  # a pair of numbers: place and item of a closing tag
    while ahead:
        node = ahead.pop()
        if isinstance(node, tuple):
            gaps.setdefault(node[0], []).append(mark_of(marked, node[1]))
            continue
        gaps.setdefault(node.begin, []).append(mark_of(marked, node.place))
        partner = marked.items[node.place].partner
        if partner >= 0:
            ahead += [(node.end, partner), *reversed(node.inside)]
