"""SRT, the SubRip format of subtitles."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nmt.text.documents.document import Document, Edit, Outcome, Part, Unit
from nmt.text.documents.encodings import decode
from nmt.text.documents.templates import Template, line_by_line, sentence
from nmt.text.errors import CorpusError
from nmt.text.languages import Languages

_WIDTH = 42
"""Characters of a line that viewers can read in time; a cue with longer lines keeps its width."""

_OWN_LINE = re.compile(r"\s*(?:[-\u2010-\u2015*#\u266a\u266b<{\[(]|[^\s:]{1,20}:\s)")
"""The beginning of a line that does not continue the line before: another speaker, a sound, a tag."""

_BREAK = re.compile(r"\s+(?![^<>]*>)")
"""White space where a line may be broken: not within a tag."""


def open_document(path: str, raw: bytes, languages: Languages, everything: bool) -> Document:
    """Subtitles whose cues are to be translated; numbers and times stay. Each cue is translated for itself.

    Raises:
        CorpusError: a part of the file is no cue.
    """
    import srt  # type: ignore[import-untyped]

    text, encoding = decode(raw, path)
    document = Document(path, text.encode("utf-8"), encoding, [], Outcome())
    places, read = _Places(text), 0
    for cue in srt.SRT_REGEX.finditer(text):
        _require_cues(path, text, read, cue.start())
        read = cue.end()
        start, line = places.at(cue.start(5))
        end = places.at(cue.end(5))[0]
        if cue[5].strip():
            document.units.append(_unit(line, cue[5], start, end))
    _require_cues(path, text, read, len(text))
    return document


class _Places:
    """Bytes and lines of places in a text, which are asked for in their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._read, self._byte, self._line = 0, 0, 1

    def at(self, place: int) -> tuple[int, int]:
        """The byte in UTF-8, and the line, counted from 1."""
        part = self._text[self._read : place]
        self._read, self._byte, self._line = place, self._byte + len(part.encode()), self._line + part.count("\n")
        return self._byte, self._line


def _require_cues(path: str, text: str, start: int, end: int) -> None:
    """Refuses text between cues.

    Raises:
        CorpusError: names its line.
    """
    between = text[start:end]
    if between.strip():
        line = text.count("\n", 0, start + len(between) - len(between.lstrip())) + 1
        raise CorpusError(
            f"{path}, line {line}: broken subtitles: expected a number, a line such as 00:00:01,000 --> 00:00:02,500, "
            "the text, and an empty line"
        )


def _unit(line: int, text: str, start: int, end: int) -> Unit:
    return Unit(line, (Part(cue_template(text), lambda translation: [Edit(start, end, translation)]),))


def cue_template(text: str) -> Template:
    """The text of a cue as a sentence, whose translation is broken into lines anew.

    The lines of several speakers, and lines with tags of their own, are sentences of their own.
    """
    lines = text.split("\n")
    if len(lines) > 1 and any(_OWN_LINE.match(line) for line in lines[1:]):
        return line_by_line(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    width = max(_WIDTH, *(_width(line.strip()) for line in lines))
    return sentence(text, lambda translation: newline.join(reflow(translation, width)))


def reflow(text: str, width: int) -> list[str]:
    """A text in as few lines of at most `width` characters as possible, and these as equally long as possible.

    Words longer than a line, and text without spaces, are not broken.
    """
    words = _BREAK.split(text.strip())
    lines = _wrapped(words, width)
    while width > 1 and len(closer := _wrapped(words, width - 1)) == len(lines):
        width, lines = width - 1, closer
    return lines


def _wrapped(words: Sequence[str], width: int) -> list[str]:
    """Words in lines, each as long as possible."""
    lines = [words[0]]
    for word in words[1:]:
        longer = f"{lines[-1]} {word}"
        if _width(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _width(text: str) -> int:
    """Characters that are shown: all but tags."""
    return len(re.sub(r"<[^<>]*>|\{\\[^{}]*\}", "", text))
