"""Text units as sentences to translate, and back: line breaks, outer spaces, enclosing tags, placeholders.

A translation must have the placeholders of its source, such as %s, {name} or <b>, or it is refused: a program that
shows it would fail, or show a broken page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nmt.text.markup.placeholders import FORMAT
from nmt.text.markup.scanning import is_protecting, scan

_PLACEHOLDER = re.compile(
    rf"""{FORMAT}
    | </?[A-Za-z][^<>]*>                                       # <b>, </b>, <br/>
    | &(?:\#\d+|\#[xX][0-9a-fA-F]+|[A-Za-z]\w*);               # &nbsp;
    | \\[A-Za-z"'\\]                                           # an escape that is part of the text
    | https?://\S+
    """,
    re.VERBOSE,
)
_POSITIONAL = re.compile(r"%(?![({%]|\d+\$|L?\d+$).+|\{\}")
"""Placeholders that are filled by their order."""

_CHOICE = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\s*,")
"""A choice between texts in ICU's message format."""

_ENCLOSING = re.compile(r"(<([A-Za-z]\w*)(?:\s[^<>]*)?>\s*)(.*?)(\s*</\2\s*>)", re.DOTALL)

_LINE_END = re.compile(r"(\r\n|\n|\r)")

_MARK = re.compile(r"(?:\{\\[^{}]*\}\s*)+|[-\u2010-\u2015\u2022*]\s+")
"""A mark in front of a text: a place on the screen, such as {\\an8}, or the dash of a list or of a speaker."""


@dataclass(frozen=True)
class Template:
    """A text as sentences with everything around them."""

    texts: tuple[str, ...]
    """The sentences to translate, without outer white space and without the tags and marks around them."""
    _rebuild: Callable[[Sequence[str]], str]
    codes: bool = False
    """Whether the texts are XML. Translations always have their tags and placeholders, and may have other entities."""

    def fill(self, translations: Sequence[str]) -> str | None:
        """The text with translations in place of `texts`; None if one is blank or has other placeholders."""
        for text, translation in zip(self.texts, translations, strict=True):
            kept = same_order(text, translation) if self.codes else same_placeholders(text, translation)
            if not translation.strip() or not kept:
                return None
        return self._rebuild(translations)


def line_by_line(text: str, codes: bool = False) -> Template:
    """A text whose lines are translated each for itself; line breaks and outer spaces stay.

    Args:
        codes: whether the text is XML. Line breaks within its codes are no line breaks of the text.
    """
    frames = [_Frame.of(line) for line in (_lines_with_codes(text) if codes else _LINE_END.split(text))]

    def rebuild(translations: Sequence[str]) -> str:
        left = iter(translations)
        return "".join(frame.before + (next(left) if frame.text else "") + frame.after for frame in frames)

    return Template(tuple(frame.text for frame in frames if frame.text), rebuild, codes)


def _lines_with_codes(text: str) -> list[str]:
    """The lines of XML with codes, and between them the line ends of its text."""
    lines = [""]
    for token in scan(text, "xliff"):
        first, *others = _LINE_END.split(token.raw) if token.kind == "text" else [token.raw]
        lines[-1] += first
        lines += others
    return lines


def sentence(text: str, laid_out: Callable[[str], str]) -> Template:
    """A text that is one sentence, whatever its line breaks.

    Args:
        text: has a character that is not white space.
        laid_out: breaks the translation into lines.
    """
    frame = _Frame.of(text)
    texts = (" ".join(frame.text.split()),) if frame.text else ()
    return Template(texts, lambda found: frame.before + "".join(map(laid_out, found)) + frame.after)


def has_choice(text: str) -> bool:
    """Whether a text has a choice between texts in ICU's message format, which a sentence model cannot translate."""
    return bool(_CHOICE.search(text))


def same_placeholders(one: str, other: str) -> bool:
    """Whether two texts have equal placeholders; placeholders that are filled by their order keep it."""
    found = [_PLACEHOLDER.findall(text) for text in (one, other)]
    return Counter(found[0]) == Counter(found[1]) and same_order(one, other)


def same_order(one: str, other: str) -> bool:
    """Whether the placeholders that are filled by their order have one order in both texts."""
    ordered = [[token for token in _PLACEHOLDER.findall(text) if _POSITIONAL.fullmatch(token)] for text in (one, other)]
    return ordered[0] == ordered[1]


@dataclass(frozen=True)
class _Frame:
    """A text with the white space and the tags that enclose it."""

    before: str
    text: str
    after: str

    @classmethod
    def of(cls, text: str) -> _Frame:
        before, inner, after = _outer_space(text)
        while inner:
            if mark := _MARK.match(inner):
                before, inner = before + mark[0], inner[mark.end() :]
                continue
            enclosing = _ENCLOSING.fullmatch(inner)
            if not enclosing or is_protecting(enclosing[1]) or re.search(rf"</?{enclosing[2]}\b", enclosing[3]):
                break
            before, inner, after = before + enclosing[1], enclosing[3], enclosing[4] + after
        return cls(before, inner, after)


def _outer_space(text: str) -> tuple[str, str, str]:
    inner = text.strip()
    if not inner:
        return text, "", ""
    start = text.index(inner)
    return text[:start], inner, text[start + len(inner) :]
