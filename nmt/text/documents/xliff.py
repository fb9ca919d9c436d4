"""XLIFF 1.2 and 2.0, the exchange formats of translation tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from nmt.text.documents.document import Document, Edit, Outcome
from nmt.text.documents.encodings import XML_DECLARATION, decode, utf8_chunks
from nmt.text.documents.inline import plain_text
from nmt.text.documents.languages import LanguageChoice
from nmt.text.documents.rows import PlacedRow, one_line
from nmt.text.documents.xml_edits import space_before, with_attribute
from nmt.text.documents.xml_elements import Element, elements, tag_end
from nmt.text.documents.xml_units import add_unit
from nmt.text.languages import UNKNOWN, Language, Languages
from nmt.text.languages.matching import known, may_be_same, spelled

_NAMES = frozenset({"trans-unit", "segment"})
"""The elements with a source and a target in XLIFF 1.2 and in 2.0."""

_UNITS_READ = 10_000
"""Units in which the languages show."""

_UNTRANSLATED = {"new", "needs-translation", "initial"}
"""States of a unit whose target, if it has one, is only a stand-in."""

_NEW_STATE = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}
"""Attributes of a target of XLIFF 1.2 that a machine wrote."""


def read_pairs(path: str, languages: Languages) -> Iterator[PlacedRow]:
    """The pairs of an XLIFF file, a unit at a time.

    An untranslated unit has an empty target, and a side in another language is empty too.

    Raises:
        CorpusError: the file cannot be read, leaves open which languages are meant, or has no unit in them.
    """
    choice, found = None, False
    for element, choice in _units(path, languages):
        sources = element.children("source")
        if not sources:
            yield PlacedRow(element.line, problem=f"a unit ({element.name}) without a source")
            continue
        target = b"" if _is_untranslated(element) else one_line(plain_text(element.children("target")[0]))
        declared, chosen = _declared(element), choice.languages
        sides, fits = (one_line(plain_text(sources[0])), target), _fits(declared, chosen)
        if not all(fits) and all(exchanged := _fits(declared[::-1], chosen)):
            sides, fits = sides[::-1], exchanged
        found = found or all(fits)
        yield PlacedRow(element.line, (sides[0] if fits[0] else b"", sides[1] if fits[1] else b""))
    if choice is not None and not found:
        choice.refuse()


def declared_languages(path: str, languages: Languages) -> Languages:
    """Source and target of an XLIFF file, as far as its first units show them.

    Raises:
        CorpusError: see `read_pairs`.
    """
    choice = None
    for _, choice in islice(_units(path, languages), _UNITS_READ):
        if choice.target:
            break
    return choice.languages if choice else UNKNOWN


def _units(path: str, languages: Languages) -> Iterator[tuple[Element, LanguageChoice]]:
    """The units of a file, each with the choice of languages so far."""
    choice = None
    for unit in elements(utf8_chunks(path), _NAMES, path):
        declared = [known(language.tag) for language in _declared(unit)]
        choice = choice or LanguageChoice(languages, declared[0], path)
        if declared[0]:
            choice.see(filter(None, declared), unit.line)
        yield unit, choice


def _fits(declared: Sequence[Language], chosen: Languages) -> tuple[bool, bool]:
    """Whether each side of a unit may be in the chosen language."""
    return may_be_same(declared[0], chosen.source), may_be_same(declared[1], chosen.target)


def _declared(unit: Element) -> Languages:
    source = unit.inherited("source-language") or unit.inherited("srcLang") or ""
    target = unit.inherited("target-language") or unit.inherited("trgLang") or ""
    return Languages(spelled(source), spelled(target))


def _is_untranslated(unit: Element) -> bool:
    targets = unit.children("target")
    state = unit.attributes.get("state") or (targets[0].attributes.get("state") if targets else None)
    return not targets or not plain_text(targets[0]).strip() or state in _UNTRANSLATED


def open_document(path: str, raw: bytes, languages: Languages, everything: bool, codes: bool = False) -> Document:
    """An XLIFF file whose units without a translation are to be translated. Approved units stay.

    If some units are for the target language, the units for other languages stay untranslated.

    Raises:
        CorpusError: broken XML.
    """
    text, encoding = decode(raw, path, XML_DECLARATION)
    document = Document(path, text.encode("utf-8"), encoding, [], Outcome(), references=True, codes=codes)
    units = list(elements([document.data], _NAMES, path))
    targets = [_declared(unit).target for unit in units]
    chosen = [target for target in targets if known(target.tag) and may_be_same(target, languages.target)]
    document.target = languages.target if chosen else next(iter(targets), Language())
    for unit, target in zip(units, targets, strict=True):
        if not unit.children("source") or unit.inherited("translate") == "no":
            continue
        if chosen and not may_be_same(target, languages.target):
            document.outcome.leave(f"for translations into {target}", unit.line)
        else:
            _add_unit(document, unit, known(languages.target.tag), everything)
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
