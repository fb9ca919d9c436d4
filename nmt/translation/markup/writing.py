"""Writes a translation with its markup: tags and codes between words, with the spaces of the source around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from nmt.text.markup import MarkedText

Side = Literal["left", "right", "apart", "glued"]


class Mark(NamedTuple):
    """A tag or code between two words of the translation."""

    raw: str
    side: Side
    """left: belongs to the word before it, as a closing tag; right: to the word behind it; apart: has a space on both
    sides; glued: has no space on either side."""
    inner_space: bool = False
    """Whether the source has a space between a tag and the text that it encloses."""


def mark_of(marked: MarkedText, place: int) -> Mark:
    """The mark for a tag or code of the source."""
    item = marked.items[place]
    before, behind = marked.beside(place, -1), marked.beside(place, 1)
    if item.partner >= 0:
        if item.kind == "open":
            return Mark(item.raw, "right", behind == "space")
        return Mark(item.raw, "left", before == "space")
    if before == behind == "text":
        return Mark(item.raw, "glued")
    if before == behind == "space":
        return Mark(item.raw, "apart")
    return Mark(item.raw, "right" if behind == "text" or before == "space" else "left")


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
        between = _gap(space, gaps[number]) if gaps.get(number) else marked.encode(space)
        parts.append(between.lstrip() if number == 0 else between.rstrip() if number == len(ends) else between)
        if number < len(ends):
            parts.append(_unit(text, ends[number], replaced, marked))
            place = ends[number][1]
    return "".join(parts)


def _unit(text: str, unit: tuple[int, int], replaced: Mapping[tuple[int, int], str], marked: MarkedText) -> str:
    parts, place = [], unit[0]
    for (begin, end), raw in sorted(replaced.items()):
        if unit[0] <= begin and end <= unit[1]:
            parts += [marked.encode(text[place:begin]), raw]
            place = end
    return "".join([*parts, marked.encode(text[place : unit[1]])])


def _gap(space: str, marks: Sequence[Mark]) -> str:
    """Marks between two units, which have this space between them."""
    first = next((number for number, mark in enumerate(marks) if mark.side != "left"), len(marks))
    parts: list[str] = []
    for number, mark in enumerate(marks):
        if number == first and space and mark.side != "glued":
            parts.append(space)
        if mark.side == "apart" or (mark.side == "left" and mark.inner_space):
            parts.append(" ")
        parts.append(mark.raw)
        if mark.side == "apart" or (mark.side == "right" and mark.inner_space):
            parts.append(" ")
    if first == len(marks) and space:
        parts.append(space)
    single = [part for number, part in enumerate(parts) if number == 0 or not (part == parts[number - 1] == " ")]
    return "".join(single)
