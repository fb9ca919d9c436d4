"""TMX, the exchange format of translation memories: versions 1.1 to 1.4b."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from nmt.text.documents.document import Document, Edit, Outcome
from nmt.text.documents.encodings import XML_DECLARATION, decode, utf8_chunks
from nmt.text.documents.inline import plain_text
from nmt.text.documents.languages import TAGS_SHOWN, LanguageChoice
from nmt.text.documents.rows import PlacedRow, one_line
from nmt.text.documents.xml_edits import segment_edit, space_before, with_attribute
from nmt.text.documents.xml_elements import Element, elements
from nmt.text.documents.xml_units import add_unit
from nmt.text.errors import CorpusError
from nmt.text.languages import Languages
from nmt.text.languages.matching import best_match, known

_NAMES = frozenset({"header", "tu"})
_UNITS_READ = 10_000
"""Units in which the languages show."""
_ALL = "*all*"
"""In place of a source language in a header: every language may be the source."""


def read_pairs(path: str, languages: Languages) -> Iterator[PlacedRow]:
    """The pairs of a translation memory, a unit at a time. A unit without one of the languages has an empty side.

    Raises:
        CorpusError: the file cannot be read, leaves open which languages are meant, or has no unit with both.
    """
    choice, pairs = LanguageChoice(languages, "", path), 0
    for element in elements(utf8_chunks(path), _NAMES, path):
        if element.name == "header":
            choice = LanguageChoice(languages, _header_language(element), path)
            continue
        variants = element.children("tuv")
        if problem := _problem(variants):
            yield PlacedRow(element.line, problem=problem)
            continue
        tags = [_language(variant) for variant in variants]
        choice.see(tags, element.line)
        sides = _side(choice.source, tags, variants), _side(choice.target, tags, variants)
        pairs += all(sides)
        yield PlacedRow(element.line, sides)
    if not pairs:
        choice.refuse()


def declared_languages(path: str, languages: Languages) -> Languages:
    """Source and target of a translation memory, as far as its first units show them.

    Raises:
        CorpusError: the file cannot be read, or leaves open which languages are meant.
    """
    choice = LanguageChoice(languages, "", path)
    for element in islice(elements(utf8_chunks(path), _NAMES, path), _UNITS_READ):
        if element.name == "header":
            choice = LanguageChoice(languages, _header_language(element), path)
        else:
            choice.see(filter(None, map(_language, element.children("tuv"))), element.line)
        if choice.target:
            break
    return choice.languages


def _header_language(header: Element) -> str:
    language = header.attributes.get("srclang", "")
    return "" if language.casefold() == _ALL else known(language)


def _language(variant: Element) -> str:
    return variant.attributes.get("xml:lang") or variant.attributes.get("lang", "")


def _problem(variants: Sequence[Element]) -> str:
    """The problem of a unit, or nothing."""
    if not variants:
        return "a unit without variants (tuv)"
    if not all(map(_language, variants)):
        return "a variant (tuv) without a language, expected the attribute xml:lang"
    if not all(variant.children("seg") for variant in variants):
        return "a variant (tuv) without a segment (seg)"
    return ""


def _side(tag: str, tags: Sequence[str], variants: Sequence[Element]) -> bytes:
    place = best_match(tag, tags) if tag else None
    return b"" if place is None else one_line(plain_text(variants[place].children("seg")[0]))


def open_document(path: str, raw: bytes, languages: Languages, everything: bool, codes: bool = False) -> Document:
    """A translation memory whose units without a target are to be translated.

    Raises:
        CorpusError: broken XML, or unknown languages.
    """
    text, encoding = decode(raw, path, XML_DECLARATION)
    data = text.encode("utf-8")
    document = Document(path, data, encoding, [], Outcome(), references=True, codes=codes)
    source, target = known(languages.source.tag), known(languages.target.tag)
    if not target:
        raise CorpusError(f"{path}: the language to add is unknown: give --target-language, such as de")
    seen: dict[str, None] = {}
    for element in elements([data], _NAMES, path):
        if element.name == "header":
            source = source or _header_language(element)
        elif not source:
            raise CorpusError(f"{path}: does not say which language is the source: give --source-language, such as en")
        elif problem := _problem(element.children("tuv")):
            document.outcome.leave(f"that cannot be read: {problem}", element.line)
        else:
            seen |= dict.fromkeys(map(_language, element.children("tuv")))
            _add_unit(document, element, (source, target), everything)
    if seen and best_match(source, list(seen)) is None:
        raise CorpusError(
            f"{path}: no unit has text in {source}, the language to translate; the file's languages: "
            f"{', '.join(list(seen)[:TAGS_SHOWN])}: give --source-language with one of them"
        )
    return document


def _add_unit(document: Document, unit: Element, languages: tuple[str, str], everything: bool) -> None:
    """Adds the text of a unit that has one in the source language, or counts the unit."""
    variants = unit.children("tuv")
    tags = [_language(variant) for variant in variants]
    found, there = best_match(languages[0], tags), best_match(languages[1], tags, any_region=False)
    source = None if found is None else variants[found].children("seg")[0]
    target = None if there is None else variants[there].children("seg")[0]
    if found is None or source is None or found == there or not plain_text(source).strip():
        document.outcome.leave(f"without text in {languages[0]}", unit.line)
        return
    if target is not None and plain_text(target).strip() and not everything:
        document.outcome.translated += 1
        return

    def write(content: str) -> list[Edit]:
        if target is not None:
            return [segment_edit(document.data, target, content)]
        return [_new_variant(document.data, variants[found], variants[-1], languages[1], content)]

    add_unit(document, source, write)


def _new_variant(data: bytes, model: Element, last: Element, language: str, content: str) -> Edit:
    """Adds a variant behind the last one, indented like the source's."""
    segment, place = model.children("seg")[0], last.end(data)
    attribute = "xml:lang" if "xml:lang" in model.attributes else "lang"
    before, after = space_before(data, segment.start), space_before(data, model.close)
    tag = with_attribute(f"<{model.tag}>", attribute, language)
    name = segment.tag
    return Edit(
        place,
        place,
        f"{space_before(data, model.start)}{tag}{before}<{name}>{content}</{name}>{after}</{model.tag}>",
    )
