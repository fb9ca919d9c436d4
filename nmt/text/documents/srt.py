"""SRT, the SubRip format of subtitles."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from nmt.text.documents.document import Document, Edit, Outcome, Part, Unit
from nmt.text.documents.encodings import decode
from nmt.text.documents.templates import Template, line_by_line, sentence
from nmt.text.errors import CorpusError
from nmt.text.languages import Languages

_WIDTH = 42
"""Characters of a line that viewers can read in time; a cue with longer lines keeps its width."""

_OWN_LINE = re.compile(r"\s*(?:[-\u2010-\u2015*#\u266a\u266b<{\[(]|[^\s:]{1,20}:\s)")
"""The beginning of a line that does not continue the line before: another speaker, a sound, a tag."""

_NUMBERS = r"[0-9]{1,9}[,.:，．。：][0-9]{1,9}[,.:，．。：][0-9]{1,9}(?:[,.:，．。：][0-9]{0,9})?"
"""A time. Programs that write subtitles differ in what stands between its numbers."""

_HEAD = re.compile(
    rf"^[ \t]{{0,9}}(?P<number>-?[0-9]{{1,9}}(?:\.[0-9]{{0,9}})?\s{{0,9}}\n)?{_NUMBERS}"
    rf"(?P<end>[ ]*-[ -][ ]*>[ ]*{_NUMBERS}[^\r\n]*(?:\r?\n|\Z))?",
    re.MULTILINE,
)
"""The head of a cue: its number, which some files lack, and its times on one line. Without its end it is broken."""

_BREAK = re.compile(r"\s+(?![^<>]*>)")
"""White space where a line may be broken: not within a tag."""


def open_document(path: str, raw: bytes, languages: Languages, everything: bool, codes: bool = False) -> Document:
    """Subtitles whose cues are to be translated; numbers and times stay. Each cue is translated for itself.

    Raises:
        CorpusError: a part of the file is no cue.
    """
    text, encoding = decode(raw, path, None)
    document = Document(path, text.encode("utf-8"), encoding, [], Outcome(), codes=codes)
    places, newline = _Places(text), "\r\n" if "\r\n" in text else "\n"
    for cue in _cues(path, text):
        start, line = places.at(cue.start)
        end = places.at(cue.stop)[0]
        document.units.append(_unit(line, cue_template(text[cue], newline), start, end))
    return document


def _cues(path: str, text: str) -> Iterator[slice]:
    """The places of the texts of cues, blank ones left out. A text stands between two heads.

    Raises:
        CorpusError: text before the first head, or a broken head.
    """
    begin = None
    for head in _HEAD.finditer(text):
        if begin is None:
            _require_blank(path, text, head.start())
        if not head["end"]:
            if begin is None or head["number"] or text.endswith(("\n\n", "\n\r\n"), 0, head.start()):
                raise _broken(path, text, head.start())
            continue  # a time in the text of a cue
        if begin is not None:
            yield from _not_blank(text, begin, head.start())
        begin = head.end()
    if begin is None:
        _require_blank(path, text, len(text))
    else:
        yield from _not_blank(text, begin, len(text))


def _not_blank(text: str, start: int, end: int) -> Iterator[slice]:
    """A part of the text without the white space around it; nothing if it is blank."""
    if length := len(text[start:end].strip()):
        start = end - len(text[start:end].lstrip())
        yield slice(start, start + length)


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


def _require_blank(path: str, text: str, end: int) -> None:
    """Refuses text before the first cue.

    Raises:
        CorpusError: names its line.
    """
    before = text[:end]
    if before.strip():
        raise _broken(path, text, len(before) - len(before.lstrip()))


def _broken(path: str, text: str, place: int) -> CorpusError:
    line = text.count("\n", 0, place) + 1
    return CorpusError(
        f"{path}, line {line}: broken subtitles: expected a number, a line such as 00:00:01,000 --> 00:00:02,500, "
        "the text, and an empty line"
    )


def _unit(line: int, template: Template, start: int, end: int) -> Unit:
    return Unit(line, (Part(template, lambda translation: [Edit(start, end, translation)]),))


def cue_template(text: str, newline: str) -> Template:
    """The text of a cue as a sentence, whose translation is broken into lines anew.

    The lines of several speakers, and lines with tags of their own, are sentences of their own.

    Args:
        text: of the cue.
        newline: the document's.
    """
    lines = text.split("\n")
    if len(lines) > 1 and any(_OWN_LINE.match(line) for line in lines[1:]):
        return line_by_line(text)
    width = max(_WIDTH, *(_width(line.strip()) for line in lines))
    return sentence(text, lambda translation: newline.join(reflow(translation, width)))


def reflow(text: str, width: int) -> list[str]:
    """A text in as few lines of at most `width` characters as possible, and these as equally long as possible.

    Words longer than a line, and text without spaces, are not broken.
    """
    words = _BREAK.split(text.strip())
    count = len(_wrapped(words, width))
    narrowest = bisect_left(range(1, width), True, key=lambda narrower: len(_wrapped(words, narrower)) <= count)
    return _wrapped(words, 1 + narrowest)


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
