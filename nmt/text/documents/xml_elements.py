"""Elements of an XML document, one at a time and with their places.

expat, Python's own parser, reports the byte where each element begins, so that a document can be changed there
alone. Declared entities are refused, and only the document is read. So a document cannot name other files, or grow
while it is read.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from nmt.text.errors import CorpusError

_DEEPEST = 200
"""Elements within each other; interchange files need about ten."""

_TAG = re.compile(rb"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")
"""A start tag, an end tag or the tag of an empty element."""

_TOO_SHORT = dict.fromkeys(
    [expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS], expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_TOKEN]],
    "the file ends too early",
)


@dataclass(eq=False, slots=True)
class Element:
    """An element. Offsets count bytes of the document in UTF-8."""

    tag: str
    """As written, with its prefix."""
    attributes: dict[str, str]
    line: int
    start: int
    """Where its start tag begins."""
    parent: Element | None
    content: list[str | Element] = field(default_factory=list)
    """Text and elements, in order; nothing in an element that only contains a wanted one."""
    close: int = -1
    """Where its end tag begins; the end of an element that is only one tag."""

    @property
    def name(self) -> str:
        """The tag without a prefix."""
        return self.tag.rpartition(":")[2]

    def children(self, *names: str) -> list[Element]:
        """The elements right below with one of these names."""
        return [child for child in self.content if isinstance(child, Element) and child.name in names]

    def inherited(self, attribute: str) -> str | None:
        """The value of an attribute here or at the nearest element around."""
        element: Element | None = self
        while element is not None:
            if attribute in element.attributes:
                return element.attributes[attribute]
            element = element.parent
        return None

    def ancestor(self, name: str) -> Element | None:
        """The nearest element around with this name."""
        element = self.parent
        while element is not None and element.name != name:
            element = element.parent
        return element

    def inner(self, data: bytes) -> tuple[int, int] | None:
        """Where the content begins and ends; None for an element that is only one tag."""
        begin = tag_end(data, self.start)
        return None if begin == self.close and data[begin - 2 : begin] == b"/>" else (begin, self.close)

    def end(self, data: bytes) -> int:
        """Where the element ends."""
        return self.close if self.inner(data) is None else tag_end(data, self.close)


def tag_end(data: bytes, start: int) -> int:
    """Where the tag ends that begins at `start`."""
    found = _TAG.match(data, start)
    assert found is not None, "expat has read a tag here"
    return found.end()


def elements(chunks: Iterable[bytes], names: Container[str], path: str) -> Iterator[Element]:
    """The elements with these names, each when it ends; within such an element no other is looked for.

    Args:
        chunks: the document in UTF-8, whatever it declares.
        names: names without prefixes.
        path: the document in messages.

    Raises:
        CorpusError: the document is not well-formed, or declares entities.
    """
    reader = _Reader(names, path)
    try:
        for chunk in chunks:
            reader.parser.Parse(chunk, False)
            yield from reader.taken()
        reader.parser.Parse(b"", True)
        yield from reader.taken()
    except expat.ExpatError as error:
        problem = _TOO_SHORT.get(error.code) or expat.errors.messages.get(error.code, "error")
        raise CorpusError(
            f"{path}, line {error.lineno}, column {error.offset + 1}: broken XML ({problem}): mend it there, or export "
            "the file again"
        ) from None


class _Reader:
    """Builds the wanted elements from the events of a parser."""

    def __init__(self, names: Container[str], path: str) -> None:
        self._names, self._path = names, path
        self._open: Element | None = None
        self._wanted: Element | None = None
        self._depth = 0
        self._ready: list[Element] = []
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.specified_attributes = True  # not the defaults that a DTD declares, which can be long
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._refuse_declaration
        self.parser.SkippedEntityHandler = self._refuse_entity

    def taken(self) -> list[Element]:
        """The elements that have ended since the last call."""
        ready, self._ready = self._ready, []
        return ready

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"more than {_DEEPEST} elements within each other: expected an interchange file")
        parser = self.parser
        element = Element(tag, attributes, parser.CurrentLineNumber, parser.CurrentByteIndex, self._open)
        if self._wanted is not None and self._open is not None:
            self._open.content.append(element)
        elif element.name in self._names:
            self._wanted = element
        self._open = element

    def _end(self, _: str) -> None:
        element = self._open
        assert element is not None
        self._depth -= 1
        element.close = self.parser.CurrentByteIndex
        if element is self._wanted:
            self._wanted = None
            self._ready.append(element)
        self._open = element.parent

    def _text(self, text: str) -> None:
        if self._wanted is not None and self._open is not None:
            self._open.content.append(text)

    def _refuse_declaration(self, name: str, *_: object) -> None:
        raise self._error(f"declares the entity {name}, which is not read: remove the declaration")

    def _refuse_entity(self, name: str, _: bool) -> None:
        raise self._error(f"unknown entity &{name}; : write the character itself")

    def _error(self, problem: str) -> CorpusError:
        return CorpusError(f"{self._path}, line {self.parser.CurrentLineNumber}: {problem}")
