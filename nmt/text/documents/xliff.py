"""XLIFF 1.2 and 2.0, the exchange formats of translation tools."""

from __future__ import annotations

from collections.abc import Iterator

from nmt.text.documents.document import Document, Edit, Outcome
from nmt.text.documents.encodings import XML_DECLARATION, decode, utf8_chunks
from nmt.text.documents.inline import plain_text
from nmt.text.documents.languages import known, same_language, spelled
from nmt.text.documents.rows import PlacedRow, one_line
from nmt.text.documents.xml_edits import space_before, with_attribute
from nmt.text.documents.xml_elements import Element, elements, tag_end
from nmt.text.documents.xml_units import add_unit
from nmt.text.languages import UNKNOWN, Languages

_NAMES = frozenset({"trans-unit", "segment"})
"""The elements with a source and a target in XLIFF 1.2 and in 2.0."""

_UNTRANSLATED = {"new", "needs-translation", "initial"}
"""States of a unit whose target, if it has one, is only a stand-in."""

_NEW_STATE = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}
"""Attributes of a target of XLIFF 1.2 that a machine wrote."""


def read_pairs(path: str, languages: Languages) -> Iterator[PlacedRow]:
    """The pairs of an XLIFF file, a unit at a time. An untranslated unit has an empty target.

    Raises:
        CorpusError: the file cannot be read.
    """
    for element in elements(utf8_chunks(path), _NAMES, path):
        sources = element.children("source")
        if not sources:
            yield PlacedRow(element.line, problem=f"a unit ({element.name}) without a source")
            continue
        target = b"" if _is_untranslated(element) else one_line(plain_text(element.children("target")[0]))
        sides = one_line(plain_text(sources[0])), target
        yield PlacedRow(element.line, sides[::-1] if _is_reversed(element, languages) else sides)


def declared_languages(path: str, languages: Languages) -> Languages:
    """Source and target of the first unit, or exchanged if `languages` names them so."""
    for unit in elements(utf8_chunks(path), _NAMES, path):
        declared = _declared(unit)
        return Languages(*declared[::-1]) if _is_reversed(unit, languages) else declared
    return UNKNOWN


def _declared(unit: Element) -> Languages:
    source = unit.inherited("source-language") or unit.inherited("srcLang") or ""
    target = unit.inherited("target-language") or unit.inherited("trgLang") or ""
    return Languages(spelled(source), spelled(target))


def _is_untranslated(unit: Element) -> bool:
    targets = unit.children("target")
    state = unit.attributes.get("state") or (targets[0].attributes.get("state") if targets else None)
    return not targets or not plain_text(targets[0]).strip() or state in _UNTRANSLATED


def _is_reversed(unit: Element, languages: Languages) -> bool:
    """Whether the file translates from the wanted target language into the wanted source language."""
    declared = _declared(unit)
    tags = [known(language.tag) for language in (*languages, *reversed(declared))]
    return all(tags) and same_language(tags[0], tags[2]) and same_language(tags[1], tags[3])


def open_document(path: str, raw: bytes, languages: Languages, everything: bool, codes: bool = False) -> Document:
    """An XLIFF file whose units without a translation are to be translated. Approved units stay.

    Raises:
        CorpusError: broken XML.
    """
    text, encoding = decode(raw, path, XML_DECLARATION)
    document = Document(path, text.encode("utf-8"), encoding, [], Outcome(), references=True, codes=codes)
    for number, element in enumerate(elements([document.data], _NAMES, path)):
        if number == 0:
            document.target = _declared(element).target
        if element.children("source") and element.inherited("translate") != "no":
            _add_unit(document, element, known(languages.target.tag), everything)
    return document


def _add_unit(document: Document, unit: Element, language: str, everything: bool) -> None:
    """Adds the text of a unit, or counts the unit."""
    source = unit.children("source")[0]
    if not plain_text(source).strip():
        return
    final = unit.attributes.get("approved") == "yes" or unit.attributes.get("state") == "final"
    if final or not (everything or _is_untranslated(unit)):
        document.outcome.translated += 1
        return

    def write(content: str) -> list[Edit]:
        return [_target(document.data, unit, content), *_attributes(document.data, unit, language)]

    add_unit(document, source, write)


def _target(data: bytes, unit: Element, content: str) -> Edit:
    """Writes the target: in place of the one that is there, or behind the source."""
    source, targets = unit.children("source")[0], unit.children("target")
    name = source.tag[: -len("source")] + "target"
    before = (unit.children("seg-source") or [source])[-1]
    if targets:
        place, end, space = targets[0].start, targets[0].end(data), ""
        opening = data[place : tag_end(data, place)].decode()
        opening = f"{opening[:-2].rstrip()}>" if opening.endswith("/>") else opening
    else:
        place = end = before.end(data)
        opening, space = f"<{name}>", space_before(data, source.start)
    if unit.name == "trans-unit":
        for attribute, value in _NEW_STATE.items():
            opening = with_attribute(opening, attribute, value)
    return Edit(place, end, f"{space}{opening}{content}</{name}>")


def _attributes(data: bytes, unit: Element, language: str) -> Iterator[Edit]:
    """Changes of start tags: the state of a segment, and the target language that the file lacks."""
    if unit.name == "segment":
        yield _attribute(data, unit, "state", "translated")
    around = unit.ancestor("file" if unit.name == "trans-unit" else "xliff")
    name = "target-language" if unit.name == "trans-unit" else "trgLang"
    if language and around is not None and name not in around.attributes:
        yield _attribute(data, around, name, language)


def _attribute(data: bytes, element: Element, name: str, value: str) -> Edit:
    end = tag_end(data, element.start)
    return Edit(element.start, end, with_attribute(data[element.start : end].decode(), name, value))
