"""A line of text with its markup: which tags enclose which text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from nmt.text.markup.entities import decode_entity, encode, entity_spellings
from nmt.text.markup.scanning import MarkupKind, Token, is_block, is_like_xliff, scan

DEEPEST = 100
"""Pairs of tags that enclose each other at most."""

ItemKind = Literal["text", "open", "close", "code", "placeholder", "number"]


class Item(NamedTuple):
    """A part of a line with markup."""

    kind: ItemKind
    """text; a tag that opens or closes a pair; a code that stands alone; a placeholder that stands for a word; a number
    in digits."""
    raw: str
    """As the line writes it."""
    text: str = ""
    """For text: without entities."""
    partner: int = -1
    """For a tag of a pair: the place of the other tag."""


@dataclass(frozen=True)
class MarkedText:
    """A line in parts."""

    items: tuple[Item, ...]
    spellings: dict[str, str] = field(default_factory=dict)
    """How a translation writes characters that the line writes as entities."""
    problems: tuple[str, ...] = ()
    """Tags without a partner. Each is kept as a code that stands alone."""

    def render(self, substitute: Callable[[int], str]) -> tuple[str, list[tuple[int, int]]]:
        """The text without tags and codes, and where each item begins and ends in it.

        A code or a block's tag between two letters parts words, as `<br/>` and `</td>` do: a space takes its place.

        Args:
            substitute: the text for the placeholder or number at this place; empty to leave it out.
        """
        parts: list[str] = []
        spans, length = [], 0
        for place, item in enumerate(self.items):
            text = item.text if item.kind == "text" else ""
            if item.kind in ("placeholder", "number"):
                text = substitute(place)
            if not text and self.parts_words(place):
                text = " "
            parts.append(text)
            spans.append((length, length + len(text)))
            length += len(text)
        return "".join(parts), spans

    def has_space(self, place: int, step: Literal[-1, 1]) -> bool:
        """Whether white space or the end of the line is right before (-1) or behind (1) an item."""
        place += step
        if not 0 <= place < len(self.items):
            return True
        return self.items[place].kind == "text" and self.items[place].text[min(step, 0)].isspace()

    def touches_space(self, place: int, step: Literal[-1, 1]) -> bool:
        """Whether white space or the end of the line is before (-1) or behind (1) an item; other tags do not count."""
        place += step
        while 0 <= place < len(self.items) and self.items[place].kind in ("open", "close", "code"):
            place += step
        return self.has_space(place - step, step)

    def parts_words(self, place: int) -> bool:
        """Whether an item stands between two words without a space: a code, or a tag of a block of text."""
        item = self.items[place]
        between = item.kind in ("code", "placeholder", "number") or (item.partner >= 0 and is_block(item.raw))
        return between and self.is_glued(place)

    def is_glued(self, place: int) -> bool:
        """Whether text touches an item on both sides."""
        return not (self.touches_space(place, -1) or self.touches_space(place, 1))

    def encode(self, text: str) -> str:
        """Text of a translation with entities where the line has them."""
        return encode(text, self.spellings)


def plain_text(line: str, kind: MarkupKind) -> str:
    """The text of a line without its tags, codes and placeholders; numbers stay."""
    items = (marked := parse_markup(line, kind)).items
    return marked.render(lambda place: items[place].raw if items[place].kind == "number" else "")[0]


def parse_markup(line: str, kind: MarkupKind) -> MarkedText:
    """The parts of a line with markup. The raw texts of all items joined are the line.

    A tag without a partner, or whose pair would cross another pair, or is nested too deep, becomes a code that stands
    alone. So does a pair without words, with all that it encloses. A pair around text that must not be translated
    becomes a placeholder.
    """
    kind = kind if kind != "auto" else "xliff" if is_like_xliff(line) else "html"
    tokens = list(scan(line, kind))
    partners, problems = _pairs(tokens)
    texts, entities, items = [], [], []
    for place, token in enumerate(tokens):
        if token.kind == "entity":
            text = decode_entity(token.raw, kind == "html")
            entities += [(text, token.raw)] if text else []
            items.append(Item("text", token.raw, text) if text else Item("code", token.raw))
        elif token.kind == "text":
            texts.append(token.raw)
            items.append(Item("text", token.raw, token.raw))
        elif token.kind in ("open", "close") and place not in partners:
            items.append(Item("code", token.raw))
        else:
            items.append(Item(token.kind, token.raw, partner=partners.get(place, -1)))
    protected = {place for place, token in enumerate(tokens) if token.protected}
    return MarkedText(tuple(_folded(items, protected)), entity_spellings(texts, entities), tuple(problems))


def _pairs(tokens: Sequence[Token]) -> tuple[dict[int, int], list[str]]:
    """The partner of each tag that has one, both ways; and the tags that have none, in words."""
    partners: dict[int, int] = {}
    problems: list[str] = []
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if token.kind == "open" and len(opened) >= DEEPEST:
            problems.append(f"{token.raw} is nested in {DEEPEST} tags")
        elif token.kind == "open":
            opened.append(place)
        elif token.kind == "close":
            names = [tokens[one].name for one in opened]
            if token.name not in names:
                problems.append(f"{token.raw} closes nothing")
                continue
            depth = len(names) - 1 - names[::-1].index(token.name)
            problems += [f"{tokens[one].raw} is not closed" for one in opened[depth + 1 :]]
            partners |= {opened[depth]: place, place: opened[depth]}
            del opened[depth:]
    return partners, problems + [f"{tokens[one].raw} is not closed" for one in opened]


def _folded(items: list[Item], protected: set[int]) -> list[Item]:
    """The items with pairs without words made one code, pairs around protected text one placeholder, and neighbouring
    texts, codes or placeholders one."""
    found: list[Item] = []
    new_places: dict[int, int] = {}
    place = 0
    while place < len(items):
        item, end = items[place], place + 1
        if item.kind == "open":
            inside = items[place : item.partner + 1]
            has_words = any(one.kind in ("placeholder", "number") or one.text.strip() for one in inside)
            if place in protected or not has_words:
                item = Item("placeholder" if has_words else "code", "".join(one.raw for one in inside))
                end = items[place].partner + 1
        if item.kind in ("text", "code", "placeholder") and found and found[-1].kind == item.kind:
            found[-1] = Item(item.kind, found[-1].raw + item.raw, found[-1].text + item.text)
        else:
            found.append(item)
        new_places[place] = len(found) - 1
        place = end
    return [one._replace(partner=new_places[one.partner]) if one.partner >= 0 else one for one in found]
