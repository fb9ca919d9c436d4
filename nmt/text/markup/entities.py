"""Character entities of HTML and XML: decoded for translation, and written again as the source writes them."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

_XML = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"}
_ALWAYS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def decode_entity(raw: str, html_names: bool) -> str:
    """The text of an entity such as `&amp;`; empty if it has none.

    Args:
        raw: from `&` to `;`.
        html_names: whether HTML's names count beside those of XML.
    """
    if not (html_names or raw in _XML or raw.startswith("&#")):
        return ""
    text = html.unescape(raw)
    return "" if text == raw or "\x00" in text else text


def entity_spellings(texts: Iterable[str], entities: Iterable[tuple[str, str]]) -> dict[str, str]:
    """How a translation writes characters: as the source writes them first.

    `&`, `<` and `>` are written as entities unless the source has them as they are.

    Args:
        texts: the source's text outside entities.
        entities: text and spelling of each entity of the source.
    """
    bare = set("".join(texts))
    spellings = {character: raw for character, raw in _ALWAYS.items() if character not in bare}
    for character, raw in reversed(list(entities)):
        if len(character) == 1 and not character.isspace() and character not in bare:
            spellings[character] = raw
    return spellings


def encode(text: str, spellings: Mapping[str, str]) -> str:
    """Text with these characters written as entities."""
    return "".join(spellings.get(character, character) for character in text)
