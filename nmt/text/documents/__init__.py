"""Interchange documents: pairs to train on, and files to translate.

`read_pairs` gives the pairs of a TMX, XLIFF or PO file. `open_document` gives the sentences of such a file, or of SRT
subtitles, and writes the file with their translations. Everything but the translated parts stays byte for byte.
"""

from nmt.text.documents.document import Document, Outcome
from nmt.text.documents.kinds import (
    EXAMPLES,
    declared_languages,
    document_kind,
    file_of_kind,
    open_document,
    read_pairs,
)
from nmt.text.documents.rows import PlacedRow

__all__ = [
    "EXAMPLES",
    "Document",
    "Outcome",
    "PlacedRow",
    "declared_languages",
    "document_kind",
    "file_of_kind",
    "open_document",
    "read_pairs",
]
