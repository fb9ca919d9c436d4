"""The characters of a document: its encoding is read from its first bytes, and is kept when the document is written."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

from nmt.text.errors import CorpusError
from nmt.text.lines import raw_chunks

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
"""Byte order marks and the encodings that they announce."""

XML_DECLARATION = re.compile(rb"""\A<\?xml\s[^>]*?\bencoding\s*=\s*["']([\w.:-]+)""")
"""The encoding in an XML declaration."""

PO_HEADER = re.compile(
    rb"""
    \A (?:[ \t\r]*(?:\#[^\n]*)?\n)*           # comments
    msgid[ \t]*""\s+ msgstr[ \t]*             # a message without a text
    (?:"[^\n]*\n\s*)*? "[^"\n]{0,999}?Content-Type:[^"\n]{0,99}?charset=([\w.:-]+)
    """,
    re.VERBOSE,
)
"""The encoding in the header of a PO file."""

_HEADER_BYTES = 1 << 16
"""Where an encoding is declared: the beginning of a document."""

_NO_ENCODINGS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
"""Python's codecs of text that are not encodings of files."""


class Encoding(NamedTuple):
    """How a document is stored."""

    name: str
    mark: bytes
    """Its byte order mark, or nothing."""

    def encode(self, text: str, references: bool) -> bytes:
        """The bytes of a document.

        Args:
            text: without a byte order mark.
            references: whether characters that the encoding lacks become XML's references, such as &#8364;.

        Raises:
            UnicodeEncodeError: the encoding lacks a character.
        """
        return self.mark + text.encode(self.name, "xmlcharrefreplace" if references else "strict")


def encoding_of(head: bytes, name: str, declaration: re.Pattern[bytes] | None) -> Encoding:
    """The encoding of a document: by its byte order mark, as declared, or UTF-8.

    Args:
        head: its first bytes, some thousands.
        name: the document in messages.
        declaration: where this kind of document declares its encoding; None if it cannot.

    Raises:
        CorpusError: an unknown encoding.
    """
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return Encoding(encoding, mark)
    declared = declaration.match(head[:_HEADER_BYTES]) if declaration else None
    spelled = declared[1].decode() if declared else "utf-8"
    if spelled == "CHARSET":  # in a fresh PO template
        spelled = "utf-8"
    try:
        known = codecs.lookup(spelled)
        if known.name.startswith(("utf-16", "utf-32")):  # the declaration itself is written in single bytes
            known = codecs.lookup("utf-8")
        if known.name in _NO_ENCODINGS:
            raise LookupError
        "".encode(spelled)  # codecs of bytes, such as base64, refuse text
    except (LookupError, TypeError):
        raise CorpusError(f"{name}: declares the unknown encoding {spelled}: convert it to UTF-8") from None
    return Encoding(known.name, b"")


def decode(raw: bytes, name: str, declaration: re.Pattern[bytes] | None) -> tuple[str, Encoding]:
    """The text of a document, without a byte order mark, and its encoding; for the arguments see `encoding_of`.

    Raises:
        CorpusError: bytes that are not valid in the document's encoding.
    """
    encoding = encoding_of(raw[:_HEADER_BYTES], name, declaration)
    try:
        text = raw.removeprefix(encoding.mark).decode(encoding.name)
    except UnicodeDecodeError as error:
        line = raw[: len(encoding.mark) + error.start].count(b"\n") + 1
        raise CorpusError(
            f"{name}, line {line}: not valid {encoding.name.upper()}: convert the file to UTF-8 (and change its "
            "declaration, if it has one)"
        ) from None
    return text, encoding


def utf8_chunks(path: str) -> Iterator[bytes]:
    """The text of an XML file in UTF-8, a part at a time, without a byte order mark.

    Raises:
        CorpusError: the file cannot be read, or is not valid in its encoding.
    """
    encoding = decoder = None
    for chunk in raw_chunks(path):
        if encoding is None or decoder is None:
            encoding = encoding_of(chunk, path, XML_DECLARATION)
            decoder = codecs.getincrementaldecoder(encoding.name)()
            chunk = chunk.removeprefix(encoding.mark)
        if encoding.name == "utf-8":
            yield chunk  # the parser finds invalid bytes, and their line
            continue
        try:
            yield decoder.decode(chunk).encode("utf-8")
        except UnicodeDecodeError:
            raise CorpusError(f"{path}: not valid {encoding.name.upper()}: convert the file to UTF-8") from None
