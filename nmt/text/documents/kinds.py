"""The kinds of interchange documents, by the ends of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from nmt.files.reading import plain_name
from nmt.text.documents import po, srt, tmx, xliff
from nmt.text.documents.document import Document
from nmt.text.documents.rows import PlacedRow
from nmt.text.errors import CorpusError
from nmt.text.languages import Languages
from nmt.text.lines import raw_chunks


class _Kind(NamedTuple):
    """The readers of documents of a kind."""

    name: str
    open: Callable[[str, bytes, Languages, bool, bool], Document]
    pairs: Callable[[str, Languages], Iterator[PlacedRow]] | None
    """None for documents of one language."""
    languages: Callable[[str, Languages], Languages] | None


_PO = _Kind("PO", po.open_document, po.read_pairs, po.declared_languages)
_XLIFF = _Kind("XLIFF", xliff.open_document, xliff.read_pairs, xliff.declared_languages)
_KINDS = {
    ".tmx": _Kind("TMX", tmx.open_document, tmx.read_pairs, tmx.declared_languages),
    ".xliff": _XLIFF,
    ".xlf": _XLIFF,
    ".po": _PO,
    ".pot": _PO,
    ".srt": _Kind("SRT", srt.open_document, None, None),
}

EXAMPLES = ".tmx, .xliff, .xlf or .po"
"""The ends of the names of documents with pairs."""


def _kind(path: str) -> _Kind | None:
    name = plain_name(path).casefold()
    return next((kind for suffix, kind in _KINDS.items() if name.endswith(suffix)), None)


def document_kind(path: str) -> str:
    """The kind of a document by its name: TMX, XLIFF, PO or SRT; empty for other files."""
    kind = _kind(path)
    return kind.name if kind else ""


def file_of_kind(kind: str) -> str:
    """A kind of document with its article, such as "an XLIFF file"."""
    return f"{'an' if kind in ('XLIFF', 'SRT') else 'a'} {kind} file"


def read_pairs(path: str, languages: Languages) -> Iterator[PlacedRow]:
    """The pairs of a document, in order.

    Args:
        path: the file; .gz files are read too.
        languages: source and target, for documents with several languages; the document's own choice if unknown.

    Raises:
        CorpusError: another kind of file, a file that cannot be read, or languages that the document leaves open.
    """
    kind = _kind(path)
    if kind is not None and kind.pairs is None:
        raise CorpusError(
            f"{path}: subtitles are in one language, so they have no pairs: write the sentences and their translations "
            "line by line into two files"
        )
    if kind is None or kind.pairs is None:
        raise CorpusError(f"{path}: has no pairs to read: expected a name that ends in {EXAMPLES} (or .gz behind it)")
    return kind.pairs(path, languages)


def declared_languages(path: str, languages: Languages) -> Languages:
    """The languages of the pairs of `read_pairs`, as the document declares them; `und` where it does not.

    Raises:
        CorpusError: see `read_pairs`.
    """
    kind = _kind(path)
    return languages if kind is None or kind.languages is None else kind.languages(path, languages)


def open_document(path: str, languages: Languages, everything: bool, codes: bool = False) -> Document:
    """A document to translate.

    Args:
        path: the file, whose `document_kind` is not empty; .gz files are read too.
        languages: source and target.
        everything: whether units that have a translation are translated again.
        codes: whether the translations keep tags, codes and placeholders as markup (see `Document.kinds`); otherwise
            units with codes inside their text stay untranslated.

    Raises:
        CorpusError: a file that cannot be read, or languages that are needed and unknown.
    """
    kind = _kind(path)
    if kind is None:
        raise CorpusError(f"{path}: is no document: expected a name that ends in {EXAMPLES}, or .srt")
    return kind.open(path, b"".join(raw_chunks(path)), languages, everything, codes)
