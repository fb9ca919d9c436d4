"""PO, the message files of GNU gettext."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from nmt.text.documents.document import MARKUP, PLURALS, UNWRITTEN, Document, Edit, Outcome, Part, Unit
from nmt.text.documents.encodings import PO_HEADER, decode
from nmt.text.documents.rows import PlacedRow, one_line
from nmt.text.documents.templates import has_choice, line_by_line
from nmt.text.errors import CorpusError
from nmt.text.languages import Language, Languages
from nmt.text.languages.matching import known, may_be_same, same_language, spelled
from nmt.text.lines import raw_chunks

_TRANSLATION = re.compile(rb'\s*msgstr(?:\[\d+\])?\s*(?=")')
"""The beginning of a translation."""
_MESSAGE = re.compile(rb"\s*msg(id|ctxt)\b")
"""The beginning of a message, or of its context."""


class _Content:
    """The content of a PO file for polib, which would take a `str` for the path of a file if there is such a file."""

    def __init__(self, text: str) -> None:
        self._text = text

    def splitlines(self) -> list[str]:
        """The lines. Only line feeds end them; other line ends of Unicode are part of a message."""
        return self._text.split("\n")


def read_pairs(path: str, languages: Languages) -> Iterator[PlacedRow]:
    """The messages and their translations. An untranslated or fuzzy message has an empty target.

    Raises:
        CorpusError: the file cannot be read, has a syntax error, or has translations into another language.
    """
    messages = _read(path)
    declared = _language(messages)
    exchanged = _is_exchanged(declared, languages)
    if not exchanged and not may_be_same(declared, languages.target):
        expected = f"expected {languages.target}: name another language or another file"
        raise CorpusError(f"{path}: its translations are in {declared}, {expected}")
    for entry in messages:
        if entry.obsolete:
            continue
        for source, target in _sides(entry):
            cells = one_line(source), b"" if entry.fuzzy else one_line(target)
            yield PlacedRow(max(entry.linenum, 1), cells[::-1] if exchanged else cells)


def declared_languages(path: str, languages: Languages) -> Languages:
    """The language of the translations; a PO file does not name the language of the messages."""
    declared = _language(_read(path))
    other = Language()
    return Languages(declared, other) if _is_exchanged(declared, languages) else Languages(other, declared)


def _read(path: str) -> Any:
    return _parse(decode(b"".join(raw_chunks(path)), path, PO_HEADER)[0], path)


def _language(messages: Any) -> Language:
    return spelled(messages.metadata.get("Language", ""))


def _is_exchanged(declared: Language, languages: Languages) -> bool:
    """Whether the wanted source is the language of the translations."""
    wanted = known(languages.source.tag)
    return bool(wanted and known(declared.tag) and same_language(declared.tag, wanted))


def _sides(entry: Any) -> Iterator[tuple[str, str]]:
    if not entry.msgid_plural:
        yield entry.msgid, entry.msgstr
        return
    forms = entry.msgstr_plural
    if len(forms) > 1:
        yield entry.msgid, forms.get(0, "")
    yield entry.msgid_plural, forms[max(forms)] if forms else ""


def _parse(text: str, path: str) -> Any:
    """The messages of a PO file, without its header.

    Raises:
        CorpusError: a syntax error, with its line.
    """
    import polib  # type: ignore[import-untyped]

    try:
        return polib.pofile(_Content(text), encoding="utf-8")
    except (OSError, ValueError) as error:
        found = re.search(r"line (\d+)\)(?:: (.*))?", str(error))
        place, problem = (f", line {found[1]}", found[2]) if found else ("", str(error))
        detail = f" ({problem})" if problem else ""
        raise CorpusError(
            f"{path}{place}: broken PO file{detail}: expected msgid and msgstr with text in double quotes: mend it "
            "there; msgfmt -c shows the other errors"
        ) from None


def open_document(path: str, raw: bytes, languages: Languages, everything: bool, codes: bool = False) -> Document:
    """A PO file whose messages without a translation are to be translated. Flags such as fuzzy stay.

    Raises:
        CorpusError: a syntax error.
    """
    text, encoding = decode(raw, path, PO_HEADER)
    document = Document(path, text.encode("utf-8"), encoding, [], Outcome(), codes=codes)
    lines, messages = _Lines(document.data), _parse(text, path)
    document.target = _language(messages)
    for entry in messages:
        if not entry.obsolete:
            _add_message(document, lines, entry, everything)
    return document


class _Lines:
    """The lines of a file with their places in bytes."""

    def __init__(self, data: bytes) -> None:
        self.newline = "\r\n" if b"\r\n" in data else "\n"
        self.lines = data.split(b"\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def translations(self, first: int) -> list[tuple[int, int]]:
        """The translations of the message that begins at a line: where their quoted texts begin and end."""
        found: list[tuple[int, int]] = []
        begun = False
        for number in range(first, len(self.lines)):
            line = self.lines[number]
            message = _MESSAGE.match(line)
            if match := _TRANSLATION.match(line):
                found.append((self.starts[number] + match.end(), self._text_end(number)))
            elif (found and not line.lstrip().startswith(b'"')) or (message and begun):  # the next message
                break
            begun = begun or (message is not None and message[1] == b"id")
        return found

    def _text_end(self, number: int) -> int:
        """Where the quoted text ends that begins on a line, without its line end."""
        while number + 1 < len(self.lines) and self.lines[number + 1].lstrip().startswith(b'"'):
            number += 1
        return self.starts[number] + len(self.lines[number].rstrip())


def _add_message(document: Document, lines: _Lines, entry: Any, everything: bool) -> None:
    """Adds the texts of a message, or counts it."""
    if not entry.msgid.strip():
        return
    line = max(entry.linenum, 1)
    places = lines.translations(line - 1)
    texts = [entry.msgid, entry.msgid_plural] if entry.msgid_plural else [entry.msgid]
    written = list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]
    if any(text.strip() for text in written) and not everything:
        document.outcome.translated += 1
    elif not places:
        document.outcome.leave(UNWRITTEN, line)
    elif len(places) > len(texts):
        document.outcome.leave(PLURALS, line)
    elif any(has_choice(text) for text in texts):
        document.outcome.leave(MARKUP, line)
    else:
        parts = [_part(lines.newline, *pair) for pair in zip(texts[-len(places) :], places, strict=True)]
        document.units.append(Unit(line, tuple(parts)))


def _part(newline: str, text: str, place: tuple[int, int]) -> Part:
    start, end = place

    def edits(translation: str) -> Sequence[Edit]:
        return [Edit(start, end, newline.join(_quoted(translation)))]

    return Part(line_by_line(text), edits)


def _quoted(text: str) -> list[str]:
    """A text as quoted lines, one for each of its lines; several begin with an empty one, as gettext writes them."""
    from polib import escape

    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]] + [parts[-1]] * bool(parts[-1])
    quoted = [f'"{escape(line)}"' for line in lines] or ['""']
    return quoted if len(quoted) == 1 else ['""', *quoted]
