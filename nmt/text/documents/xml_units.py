"""The text of a unit of an XML document, as it is translated and written back."""

from __future__ import annotations

from collections.abc import Callable

from nmt.text.documents.document import MARKUP, Document, Edit, Part, Unit
from nmt.text.documents.inline import enclosed_text, marked_text
from nmt.text.documents.templates import has_choice, line_by_line
from nmt.text.documents.xml_edits import filled_content, without_invalid
from nmt.text.documents.xml_elements import Element


def add_unit(document: Document, source: Element, write: Callable[[str], list[Edit]]) -> None:
    """Adds the text of a source element to the units of a document, or counts the element if its markup forbids that.

    Args:
        write: the edits that give the target this content, which is the translation with the markup of the source.
    """
    enclosed = enclosed_text(source, document.data)
    if enclosed is None and document.codes and not has_choice(text := marked_text(source, document.data)):
        part = Part(line_by_line(text, codes=True), lambda translation: write(without_invalid(translation)), "xliff")
        document.units.append(Unit(source.line, (part,)))
        return
    if enclosed is None or has_choice(enclosed.text):
        document.outcome.leave(MARKUP, source.line)
        return

    def edits(translation: str) -> list[Edit]:
        return write(filled_content(document.data, source, enclosed, translation))

    document.units.append(Unit(source.line, (Part(line_by_line(enclosed.text), edits),)))
