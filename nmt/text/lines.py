"""Lines of text files: plain, .gz or .zst, local or remote, standard input, UTF-8 with or without a byte order mark.

Only "\\n" and "\\r\\n" end a line. Other characters that Unicode calls line ends stay within their sentence, so they
cannot shift the sides of a corpus against each other.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from nmt.files.paths import similar_path
from nmt.files.reading import damage_errors, digest_of, opened, raw_file
from nmt.text.errors import CorpusError

TO_UTF8 = "convert it to UTF-8 (if it is Latin-1: iconv -f latin1 -t utf-8 FILE > NEW)"
"""The remedy for text in another encoding."""

_MARKS = {codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF32_BE: "UTF-32"} | {
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
"""Byte order marks of other encodings, the longer ones first."""


def read_lines(path: str) -> Iterator[str]:
    """The lines of a text file, of a .gz or .zst file or of standard input (-), without line ends.

    Raises:
        CorpusError: the file cannot be read, or a line is not valid UTF-8.
    """
    for number, line in enumerate(raw_lines(path), 1):
        yield decoded(line, f"{shown_name(path)}, line {number}")


def decoded(line: bytes, place: str) -> str:
    """The text of a line at a place, such as "FILE, line 3".

    Raises:
        CorpusError: the line is not valid UTF-8.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{invalid_utf8(place, error)}: {TO_UTF8}") from None


def without_line_breaks(text: bytes) -> bytes:
    """A text with a space in place of each line break, so that it cannot become two lines of a file."""
    return b" ".join(text.splitlines()) if b"\n" in text or b"\r" in text else text


def raw_lines(path: str) -> Iterator[bytes]:
    """The lines of `read_lines` as bytes; a byte order mark at the start of the file is removed.

    Raises:
        CorpusError: the file cannot be read, or begins with the byte order mark of another encoding.
    """
    number = 0
    try:
        with opened(path) as file:
            for number, line in enumerate(file, 1):
                if number == 1:
                    _require_no_other_encoding(path, line)
                    if line == codecs.BOM_UTF8:  # a file without lines
                        continue
                    line = line.removeprefix(codecs.BOM_UTF8)
                yield line.removesuffix(b"\n").removesuffix(b"\r")
    except damage_errors() as error:
        raise _damaged(path, f"line {number}", error) from None
    except OSError as error:
        raise unreadable(path, error) from None


def raw_chunks(path: str) -> Iterator[bytes]:
    """The content of a file, of a .gz or .zst file or of standard input (-), a mebibyte at a time.

    Raises:
        CorpusError: the file cannot be read.
    """
    read = 0
    try:
        with opened(path) as file:
            while chunk := file.read(1 << 20):
                read += len(chunk)
                yield chunk
    except damage_errors() as error:
        raise _damaged(path, f"byte {read}", error) from None
    except OSError as error:
        raise unreadable(path, error) from None


def _require_no_other_encoding(path: str, first: bytes) -> None:
    for mark, name in _MARKS.items():
        if first.startswith(mark):
            raise CorpusError(
                f"{shown_name(path)}, line 1: this is {name} text by its byte order mark, expected UTF-8: convert it "
                f"with iconv -f {name} -t utf-8 FILE > NEW"
            )


def digest_text(path: str) -> str:
    """SHA-256 of a text file's bytes, in hexadecimal.

    Raises:
        CorpusError: the file cannot be read.
    """
    try:
        return digest_of(path)
    except OSError as error:
        raise unreadable(path, error) from None


def invalid_utf8(place: str, error: UnicodeDecodeError) -> str:
    """The message about invalid UTF-8 at a place, such as "FILE, line 3"; bytes are counted from 1."""
    return f"{place}: not valid UTF-8 from its byte {error.start + 1} on"


def shown_name(path: str) -> str:
    """A path in messages."""
    return "standard input" if path == "-" else path


def _damaged(path: str, place: str, error: Exception) -> CorpusError:
    """The error of a compressed file that cannot be read behind a place."""
    end = path[path.rindex(".") :].lower()
    with raw_file(path) as file:
        compressed = file.read(4).startswith({".gz": b"\x1f\x8b"}.get(end, b"\x28\xb5\x2f\xfd"))
    if not compressed:
        return CorpusError(f"{path}: is not compressed, whatever its name says: take {end} off its name")
    return CorpusError(f"{path}: cut off or damaged after {place} ({error}): fetch it again")


def unreadable(path: str, error: OSError) -> CorpusError:
    """The error of a text file that cannot be read; it names a file of a similar name if there is none of this name."""
    near = similar_path(Path(path), Path.is_file) if isinstance(error, FileNotFoundError) else None
    hint = f"; did you mean {near}?" if near else ""
    return CorpusError(f"{path}: {error.strerror or error}: expected a text file{hint}")
