"""Text of XML elements with inline markup: the codes of TMX and XLIFF that stand for tags and placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from nmt.text.documents.xml_elements import Element

_AROUND_TEXT = {"hi", "g", "mrk", "pc"}
"""Elements around text of the sentence. All others are codes: their content, if any, is no text."""

_PAIRED = {("bpt", "ept"), ("bx", "ex"), ("sc", "ec")}
"""Codes that open and close a range of text."""

_ENDS_OF_RANGES = frozenset().union(*_PAIRED)

_INDENTATION = re.compile(r"(?<=\S)[ \t]*\n[ \t]+(?=\S)")
"""A line break of the document, not of its text: the next line is indented like an element."""


def plain_text(element: Element) -> str:
    """The text of a segment without its codes.

    A code that stands alone between two letters or digits parts words, as `<br/>` does: a space takes its place.
    """
    text, parted = "", False
    for part in _parts(element):
        if part is None:
            parted = True
        elif part:
            text += " " * (parted and text[-1:].isalnum() and part[0].isalnum()) + part
            parted = False
    return text


def _parts(element: Element) -> Iterator[str | None]:
    """The texts of a segment, and None for each code that stands alone."""
    for part in element.content:
        if isinstance(part, str):
            yield part
        elif part.name in _AROUND_TEXT:
            yield from _parts(part)
        elif part.name not in _ENDS_OF_RANGES:
            yield None


def _is_protected(element: Element) -> bool:
    """Whether the text of an element must not be translated."""
    return element.attributes.get("translate") == "no" or element.attributes.get("mtype") == "protected"


class EnclosedText(NamedTuple):
    """The text of a segment, and where it is in the document."""

    text: str
    """Without line breaks that only indent the document."""
    start: int
    end: int


def enclosed_text(segment: Element, data: bytes) -> EnclosedText | None:
    """The text of a segment whose codes, if it has any, enclose the whole text.

    Args:
        segment: a `seg`, `source` or `target`.
        data: the document in UTF-8.

    Returns:
        None if codes are inside the text, if it must not be translated, or if there is no text.
    """
    content, span = segment.content, segment.inner(data)
    while span is not None:
        start, end = span
        items = [part for part in content if not isinstance(part, str) or part.strip()]
        if all(isinstance(part, str) for part in items):
            text = "".join(part for part in content if isinstance(part, str))
            if segment.inherited("xml:space") != "preserve":
                text = _INDENTATION.sub(" ", text)
            return EnclosedText(text, start, end) if text.strip() else None
        first, last = items[0], items[-1]
        if isinstance(first, str) or isinstance(last, str):
            return None
        if first is last and first.name in _AROUND_TEXT and not _is_protected(first):
            content, span = first.content, first.inner(data)
        elif (first.name, last.name) in _PAIRED:
            content, span = _between(content, first, last), (first.end(data), last.start)
        else:
            return None
    return None


def marked_text(segment: Element, data: bytes) -> str:
    """The content of a segment as XML, with XML's line ends and without those that only indent the document."""
    start, end = segment.inner(data) or (0, 0)
    text = data[start:end].decode().replace("\r\n", "\n")
    return text if segment.inherited("xml:space") == "preserve" else _INDENTATION.sub(" ", text)


def _between(content: list[str | Element], first: Element, last: Element) -> list[str | Element]:
    return content[content.index(first) + 1 : content.index(last)]
