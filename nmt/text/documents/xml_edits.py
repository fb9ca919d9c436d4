"""Changes of XML documents: characters, attributes, contents of segments."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from nmt.text.documents.document import Edit
from nmt.text.documents.inline import EnclosedText
from nmt.text.documents.xml_elements import Element

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot contain."""

_ATTRIBUTE = re.compile(r"""([^\s=<>"'/]+)\s*=\s*(?:"[^"]*"|'[^']*')""")


def escaped(text: str) -> str:
    """Text as the content of an element."""
    return escape(without_invalid(text), {"\r": "&#13;"})


def without_invalid(text: str) -> str:
    """Text without the characters that XML cannot contain."""
    return _NOT_XML.sub("", text)


def with_attribute(tag: str, name: str, value: str) -> str:
    """A start tag, or the tag of an empty element, with a value of an attribute."""
    attribute = f"{name}={quoteattr(value)}"
    for old in _ATTRIBUTE.finditer(tag):
        if old[1] == name:
            return tag[: old.start()] + attribute + tag[old.end() :]
    cut = len(tag) - (2 if tag.endswith("/>") else 1)
    return f"{tag[:cut].rstrip()} {attribute}{tag[cut:]}"


def filled_content(data: bytes, source: Element, enclosed: EnclosedText, translation: str) -> str:
    """The content of a segment: its codes with the translation in place of the text that they enclose."""
    start, end = source.inner(data) or (0, 0)
    return data[start : enclosed.start].decode() + escaped(translation) + data[enclosed.end : end].decode()


def segment_edit(data: bytes, segment: Element, content: str) -> Edit:
    """Replaces the content of a segment."""
    span = segment.inner(data)
    if span is not None:
        return Edit(*span, content)
    tag = data[segment.start : segment.close].decode()
    return Edit(segment.start, segment.close, f"{tag[:-2].rstrip()}>{content}</{segment.tag}>")


def space_before(data: bytes, place: int) -> str:
    """The white space before a tag."""
    start = place
    while start and data[start - 1 : start].isspace():
        start -= 1
    return data[start:place].decode()
