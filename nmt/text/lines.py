"""Lines of text files: plain or .gz, standard input, UTF-8 with or without a byte order mark."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import sys
import zlib
from collections.abc import Iterator
from typing import IO

from nmt.files.digests import digest
from nmt.text.errors import CorpusError


def read_lines(path: str) -> Iterator[str]:
    """The lines of a text file, of a .gz file or of standard input (-), without their ends; a blank one is "".

    Raises:
        CorpusError: the file cannot be read, or a line is not valid UTF-8.
    """
    for number, line in enumerate(raw_lines(path), 1):
        try:
            yield decode(line, f"{shown_name(path)}, line {number}")
        except InvalidText as error:
            raise CorpusError(f"{error}: convert it to UTF-8") from None


def raw_lines(path: str) -> Iterator[bytes]:
    number = 0
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, 1):
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                yield line.removesuffix(b"\n").removesuffix(b"\r")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        with open(path, "rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
        if not compressed:
            raise CorpusError(f"{path}: is not compressed, whatever its name says: take .gz off its name") from None
        raise CorpusError(f"{path}: cut off or damaged after line {number} ({error}): fetch it again") from None
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}: expected a text file") from None


def _opened(path: str) -> contextlib.AbstractContextManager[IO[bytes] | gzip.GzipFile]:
    if path == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    return gzip.open(path) if path.endswith(".gz") else open(path, "rb")


def digest_of_text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return digest(file)
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}: expected a text file") from None


class InvalidText(Exception):
    def __init__(self, place: str, byte: int) -> None:
        super().__init__(f"{place}: not valid UTF-8 from byte {byte} of it on")
        self.place = place


def decode(cell: bytes, place: str) -> str:
    try:
        return cell.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidText(place, error.start + 1) from None


def shown_name(path: str) -> str:
    return "standard input" if path == "-" else path
