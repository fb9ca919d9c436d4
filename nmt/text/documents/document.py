"""A document to translate: its units, and its text with the translations at their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from nmt.progress import counted
from nmt.text.documents.encodings import Encoding
from nmt.text.documents.templates import Template
from nmt.text.errors import CorpusError
from nmt.text.languages import Language
from nmt.text.markup import MarkupKind

MARKUP = "with markup inside the text"
LOST = "whose placeholders the translation lost"
PLURALS = "with more than two plural forms, which a translator fills in"
UNWRITTEN = "without a place for a translation (msgstr)"
"""Reasons for units that stay untranslated."""


class Edit(NamedTuple):
    """A change of a document: new text in place of the bytes from `start` to `end`, counted in UTF-8."""

    start: int
    end: int
    text: str


class Part(NamedTuple):
    """A text of a unit, and how its translation is written."""

    template: Template
    edits: Callable[[str], Sequence[Edit]]
    """The changes for a translation; equal changes of several parts are made once."""
    kind: MarkupKind = "auto"
    """The kind of the markup in the texts."""


class Unit(NamedTuple):
    """Texts that are translated together or not at all: mostly one, and two for a message with a plural."""

    line: int
    parts: tuple[Part, ...]

    @property
    def texts(self) -> list[str]:
        """The sentences to translate."""
        return [text for part in self.parts for text in part.template.texts]

    def edits(self, translations: Iterator[str]) -> list[Edit] | None:
        """The changes for the next translations; None if one of them is refused."""
        filled = [part.template.fill(list(islice(translations, len(part.template.texts)))) for part in self.parts]
        if None in filled:
            return None
        return [
            edit for part, text in zip(self.parts, filled, strict=True) if text is not None for edit in part.edits(text)
        ]


@dataclass
class Outcome:
    """Numbers of units."""

    filled: int = 0
    translated: int = 0
    """Units that had a translation, which stays."""
    left: dict[str, list[int]] = field(default_factory=dict)
    """Lines of the units that stay untranslated, by the reason."""

    def leave(self, reason: str, line: int) -> None:
        """Counts a unit that stays untranslated."""
        self.left.setdefault(reason, []).append(line)

    def summary(self) -> str:
        """One line for the user."""
        parts = [f"{counted(self.filled, 'unit')} filled in"]
        if self.translated:
            parts.append(f"{self.translated:,} had a translation (--all-units replaces them)")
        if self.left:
            reasons = [f"{len(lines):,} {reason} (line {lines[0]})" for reason, lines in self.left.items()]
            parts.append(f"{sum(map(len, self.left.values())):,} left untranslated: {', '.join(reasons)}")
        return "; ".join(parts)


@dataclass
class Document:
    """A document with the units that are to be translated."""

    name: str
    data: bytes
    """Its text in UTF-8, without a byte order mark."""
    encoding: Encoding
    units: list[Unit]
    outcome: Outcome
    references: bool = False
    """Whether it is XML, which can write characters that its encoding lacks."""
    target: Language = Language()
    """The language of all its translations, as it declares it; unknown if it does not."""
    codes: bool = False
    """Whether its texts have the codes of units with codes inside their text, as XML."""

    def texts(self) -> list[str]:
        """The sentences of all units, in order."""
        return [text for unit in self.units for text in unit.texts]

    def kinds(self) -> list[MarkupKind]:
        """The kind of the markup in each of `texts`."""
        return [part.kind for unit in self.units for part in unit.parts for _ in part.template.texts]

    def filled(self, translations: Iterable[str]) -> bytes:
        """The document with the translations of `texts`; everything else stays byte for byte.

        Raises:
            CorpusError: the document's encoding lacks a character of a translation.
        """
        left = iter(translations)
        edits: set[Edit] = set()
        for unit in self.units:
            changes = unit.edits(left)
            if changes is None:
                self.outcome.leave(LOST, unit.line)
            else:
                self.outcome.filled += 1
                edits.update(changes)
        text = _edited(self.data, sorted(edits)).decode("utf-8")
        try:
            return self.encoding.encode(text, self.references)
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise CorpusError(
                f"{self.name}: its encoding {self.encoding.name.upper()} lacks '{character}', which a translation has: "
                "convert the file to UTF-8"
            ) from None


def _edited(data: bytes, edits: Sequence[Edit]) -> bytes:
    """The bytes with all edits, which are sorted and do not overlap."""
    parts, place = [], 0
    for edit in edits:
        assert edit.start >= place, "two edits overlap"
        parts += [data[place : edit.start], edit.text.encode("utf-8")]
        place = edit.end
    return b"".join([*parts, data[place:]])
