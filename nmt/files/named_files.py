"""Files whose write errors name the file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


class NamedFile(io.FileIO):
    """A file that errors of writing, such as a full disk, are said of by its name.

    Args:
        path: what is written.
        mode: `w` or `a`.
        shown: the name to say, of what the file is going to be; None: the path.
    """

    def __init__(self, path: Path, mode: str, shown: Path | None = None) -> None:
        super().__init__(path, mode)
        self._shown = str(shown or path)

    def write(self, content: Buffer) -> int:
        try:
            return super().write(content)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._shown) from None


def open_bytes(path: Path, mode: str, shown: Path | None = None) -> BinaryIO:
    """A `NamedFile`, buffered."""
    return io.BufferedWriter(NamedFile(path, mode, shown))


def open_text(path: Path, mode: str, shown: Path | None = None) -> TextIO:
    """A `NamedFile` for text, UTF-8."""
    return io.TextIOWrapper(open_bytes(path, mode, shown), encoding="utf-8")
