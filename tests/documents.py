"""Documents for tests, and shortcuts to read and fill them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nmt.text.documents import Document, PlacedRow, open_document, read_pairs
from nmt.text.languages import Language, Languages


def languages(source: str = "", target: str = "") -> Languages:
    return Languages(Language.of(source), Language.of(target))


def pairs(path: Path, source: str = "", target: str = "") -> list[tuple[str, str]]:
    """The pairs of a document, malformed rows left out."""
    rows: list[PlacedRow] = list(read_pairs(str(path), languages(source, target)))
    return [(row.cells[0].decode(), row.cells[1].decode()) for row in rows if not row.problem]


def translate(
    path: Path, change: Callable[[str], str], source: str = "", target: str = "", everything: bool = False
) -> tuple[bytes, Document]:
    """A document with each sentence changed."""
    document = open_document(str(path), languages(source, target), everything)
    return document.filled(map(change, document.texts())), document


def same(text: str) -> str:
    return text


def tmx(*units: str, header: str = 'srclang="en"', encoding: str = "UTF-8") -> bytes:
    """A translation memory with the content of its units."""
    body = "\n".join(f"    <tu>{unit}</tu>" for unit in units)
    return (
        f'<?xml version="1.0" encoding="{encoding}"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n'
        f'  <header creationtool="t" {header}/>\n  <body>\n{body}\n  </body>\n</tmx>\n'
    ).encode(encoding)


def tuv(language: str, segment: str) -> str:
    return f'<tuv xml:lang="{language}"><seg>{segment}</seg></tuv>'


def xliff(*units: str, attributes: str = 'source-language="en" target-language="fr"') -> bytes:
    """An XLIFF 1.2 file with the content of its units, numbered from 1 on lines of their own, the first on line 4."""
    body = "\n".join(f'<trans-unit id="{number}">{unit}</trans-unit>' for number, unit in enumerate(units, 1))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">\n'
        f'<file original="a" datatype="plaintext" {attributes}><body>\n{body}\n</body></file></xliff>\n'
    ).encode()


PO_HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: fr\\n"\n\n'
