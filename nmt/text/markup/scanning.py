"""Cuts a line with markup into tokens: text, tags, codes, placeholders, entities."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from nmt.text.markup.placeholders import ADDRESS, EMOJI, FORMAT, NUMBER

MarkupKind = Literal["auto", "html", "xliff"]
"""html: tags such as `<br>` need no end, and entities have HTML's names. xliff: XML. auto: xliff for lines with codes
of XLIFF or TMX, html for others."""

TokenKind = Literal["text", "entity", "open", "close", "code", "placeholder", "number"]


class Token(NamedTuple):
    """A part of a line; the tokens joined are the line."""

    kind: TokenKind
    raw: str
    name: str = ""
    """The name of a tag. An opening and a closing tag of equal names belong together."""
    protected: bool = False
    """Whether an opening tag says that its text must not be translated."""


_TAG = r"""
    <(?P<slash>/?)(?P<name>[A-Za-z][\w:.-]*|\d+)
    (?P<attributes>(?:\s+[^\s"'<>/=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*)\s*(?P<empty>/?)>
"""
_OTHER_TAG = r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<![A-Za-z][^<>]*>"
_ENTITY = r"&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w*);"
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
"""Elements of HTML without content."""
_BLOCK = re.compile(
    r"</?(?:address|article|aside|blockquote|caption|dd|div|dl|dt|figcaption|figure|footer|form|h[1-6]|header|legend|li|main"
    r"|nav|ol|option|p|pre|section|summary|table|tbody|td|tfoot|th|thead|tr|ul)(?=[\s/>])",
    re.IGNORECASE,
)
"""Tags of HTML's blocks, which are no part of a sentence."""
_CONTENT_IS_CODE = frozenset({"ph", "bpt", "ept", "it", "ut", "script", "style"})
"""Elements whose content is no text of the sentence."""
_PROTECTED = frozenset({"code", "kbd", "samp", "var"})
"""Elements of HTML around text that no translation changes."""
_PROTECTING = re.compile(
    r"""\stranslate\s*=\s*["']?no\b|\smtype\s*=\s*["']?protected\b|\sclass\s*=\s*["'][^"']*\bnotranslate\b"""
)
_RANGES = {"bpt": "open", "bx": "open", "sc": "open", "ept": "close", "ex": "close", "ec": "close"}
"""Codes that open and close a range of text."""
_RANGE_NAMES = {"bpt": "bpt", "ept": "bpt", "bx": "bx", "ex": "bx", "sc": "sc", "ec": "sc"}
_XLIFF_NAMES = frozenset({"x", "g", "ph", "it", "ut", "mrk", "pc", "cp", "hi", *_RANGES})
_LIKE_XLIFF = re.compile(rf"<(?:{'|'.join(sorted(_XLIFF_NAMES))})(?=[\s/>])")


@functools.cache
def _pattern() -> Any:
    import regex  # type: ignore[import-untyped]

    return regex.compile(
        rf"""(?P<tag>{_TAG}) | (?P<other>{_OTHER_TAG}) | (?P<entity>{_ENTITY})
        | (?P<placeholder>{ADDRESS} | (?:(?:(?<!\w)|(?<=\\[nrt]))\w++)?(?:{FORMAT})\w* | \\[nrt])
        | (?P<emoji>{EMOJI}) | (?P<number>{NUMBER})""",
        regex.VERBOSE | regex.DOTALL | regex.V1,
    )


def is_block(tag: str) -> bool:
    """Whether a tag begins or ends a block of HTML, such as a cell of a table."""
    return _BLOCK.match(tag) is not None


def is_protecting(tag: str) -> bool:
    """Whether an opening tag says that its text must not be translated."""
    return next(scan(tag, "auto")).protected


def is_like_xliff(line: str) -> bool:
    """Whether a line has inline codes of XLIFF or TMX."""
    return _LIKE_XLIFF.search(line) is not None


def scan(line: str, kind: MarkupKind) -> Iterator[Token]:
    """The tokens of a line.

    A `<` that begins no tag and an `&` that begins no entity are text.
    """
    place = 0
    for found in _pattern().finditer(line):
        if found.start() < place:  # inside an element whose content is code
            continue
        if found.start() > place:
            yield Token("text", line[place : found.start()])
        token = _token(found, line, kind)
        yield token
        place = found.start() + len(token.raw)
    if place < len(line):
        yield Token("text", line[place:])


def _token(found: Any, line: str, kind: MarkupKind) -> Token:
    raw = found[0]
    if found["tag"]:
        return _tag(found, line, kind)
    if found["other"] or found["emoji"]:
        return Token("code", raw)
    if found["entity"]:
        return Token("entity", raw)
    if found["number"]:
        return Token("number", raw)
    return Token("code" if raw.startswith("\\") or raw == "%%" else "placeholder", raw)


def _tag(found: Any, line: str, kind: MarkupKind) -> Token:
    raw, name, attributes = found[0], found["name"], found["attributes"]
    local = name.rpartition(":")[2].lower() if kind == "html" else name.rpartition(":")[2]
    empty = bool(found["empty"]) or (kind == "html" and local in _VOID)
    if local in _CONTENT_IS_CODE and not empty and not found["slash"]:
        end = re.compile(rf"</{re.escape(name)}\s*>", re.IGNORECASE).search(line, found.end())
        raw = line[found.start() : end.end()] if end else raw
        empty = True
    if local in _RANGES and empty:
        side: Any = _RANGES[local]
        return Token(side, raw, f"{_RANGE_NAMES[local]} {_range_id(attributes)}")
    if empty:
        return Token("code", raw)
    if found["slash"]:
        return Token("close", raw, local)
    protected = local in _PROTECTED or _PROTECTING.search(attributes) is not None
    return Token("open", raw, local, protected)


def _range_id(attributes: str) -> str:
    """The id by which the codes at both ends of a range belong together."""
    for name in ("rid", "startRef", "i", "id"):
        if found := re.search(rf"""\s{name}\s*=\s*["']([^"']*)["']""", attributes):
            return found[1]
    return ""
