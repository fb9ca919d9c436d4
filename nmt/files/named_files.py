"""Files for writing whose errors, such as a full disk, name the file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


class NamedFile(io.FileIO):
    """An unbuffered file whose write errors have a file name; Python leaves the name out.

    Args:
        path: the file to write.
        mode: `w` or `a`.
        shown: the path in errors, for a temporary file its final path; None: `path`.
    """

    def __init__(self, path: Path, mode: str, shown: Path | None = None) -> None:
        super().__init__(path, mode)
        self._shown = str(shown or path)

    def write(self, content: Buffer) -> int:
        try:
            return super().write(content)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._shown) from None


class MessageFile(io.FileIO):
    """An unbuffered file for messages. Messages that cannot be written are dropped.

    Args:
        stream: the stream in whose place it writes. It stays open as long as this file.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream.fileno(), "w", closefd=False)
        self._stream = stream

    def write(self, content: Buffer) -> int:
        try:
            return super().write(content)
        except OSError:
            return memoryview(content).nbytes


def open_bytes(path: Path, mode: str, shown: Path | None = None) -> BinaryIO:
    """A buffered `NamedFile`."""
    return io.BufferedWriter(NamedFile(path, mode, shown))


def open_text(path: Path, mode: str, shown: Path | None = None) -> TextIO:
    """A buffered `NamedFile` for UTF-8 text."""
    return io.TextIOWrapper(open_bytes(path, mode, shown), encoding="utf-8")
