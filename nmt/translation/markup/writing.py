"""Writes a translation with its markup: tags and codes between words, with the spaces of the source around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from nmt.text.markup import MarkedText

Side = Literal["left", "right", "apart"]
Space = Literal["none", "inner", "outer", "own"]
"""inner: between a tag and the text that it encloses; outer: on the other side of the tag, where it stands for the
space between two words; own: beside a code."""


class Mark(NamedTuple):
    """A tag or code between two words of the translation."""

    raw: str
    side: Side
    """left: belongs to the word before it, as a closing tag; right: to the word behind it; apart: to none."""
    before: Space
    """The space that the source has before it."""
    behind: Space
    tight: bool = False
    """Whether the mark takes the place of the space between two words, as `<br/>` may."""


def mark_of(marked: MarkedText, place: int) -> Mark:
    """The mark for a tag or code of the source."""
    item = marked.items[place]
    before, behind = marked.has_space(place, -1), marked.has_space(place, 1)
    if item.kind == "open" and item.partner >= 0:
        tight = marked.parts_words(place)
        return Mark(item.raw, "right", "outer" if before else "none", "inner" if behind else "none", tight)
    if item.kind == "close" and item.partner >= 0:
        tight = marked.parts_words(place)
        return Mark(item.raw, "left", "inner" if before else "none", "outer" if behind else "none", tight)
    touches = marked.touches_space(place, -1), marked.touches_space(place, 1)
    side: Side = "apart" if all(touches) else "right" if touches[0] else "left"
    return Mark(item.raw, side, "own" if before else "none", "own" if behind else "none", marked.is_glued(place))


def write(
    text: str,
    ends: Sequence[tuple[int, int]],
    gaps: Mapping[int, Sequence[Mark]],
    replaced: Mapping[tuple[int, int], str],
    marked: MarkedText,
) -> str:
    """The text with marks between its units.

    Args:
        text: the translation without markup.
        ends: where each unit begins and ends.
        gaps: the marks before the unit of this number; those of the number behind the last are at the end.
        replaced: parts of units that are placeholders, with what to write for them.
        marked: the source, which says how characters are written.
    """
    parts: list[str] = []
    place = 0
    for number in range(len(ends) + 1):
        begin = ends[number][0] if number < len(ends) else len(text)
        space = text[place:begin]
        unit = _unit(text, ends[number], replaced, marked) if number < len(ends) else ""
        space = space if unit or number == len(ends) else ""  # a removed word takes its space along
        ends_text = number in (0, len(ends))
        between = _gap(space, gaps[number], ends_text) if gaps.get(number) else marked.encode(space)
        parts.append(between.lstrip() if number == 0 else between.rstrip() if number == len(ends) else between)
        if number < len(ends):
            parts.append(unit)
            place = ends[number][1]
    return "".join(parts).strip()


def _unit(text: str, unit: tuple[int, int], replaced: Mapping[tuple[int, int], str], marked: MarkedText) -> str:
    parts, place = [], unit[0]
    for (begin, end), raw in sorted(replaced.items()):
        if unit[0] <= begin and end <= unit[1]:
            parts += [marked.encode(text[place:begin]), raw]
            place = end
    return "".join([*parts, marked.encode(text[place : unit[1]])])


def _gap(space: str, marks: Sequence[Mark], ends_text: bool) -> str:
    """Marks between two units, which have this space between them.

    At the beginning and the end of the text no space is between units, but marks there may be numbers and placeholders
    with spaces of their own (`ends_text`).
    """
    between = [
        {one.behind, two.before} - ({"outer"} if one.side == two.side else set()) for one, two in pairwise(marks)
    ]
    spaces: list[set[Space]] = [{marks[0].before}, *between, {marks[-1].behind}]
    used = [bool(wanted & {"inner", "own"} or ((space or ends_text) and "outer" in wanted)) for wanted in spaces]
    separated = any(is_used and wanted & {"outer", "own"} for is_used, wanted in zip(used, spaces, strict=True))
    if space and not separated and not any(mark.tight for mark in marks):
        used[next((number for number, mark in enumerate(marks) if mark.side != "left"), len(marks))] = True
    parts = [" " * is_used + mark.raw for is_used, mark in zip(used, marks, strict=False)]
    return "".join([*parts, " " * used[-1]])
