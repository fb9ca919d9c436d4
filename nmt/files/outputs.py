"""Output files of text and bytes: compressed, standard output, devices, several at once."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TextIO

from nmt.errors import NmtError
from nmt.files.atomic_writing import replacing
from nmt.files.named_files import open_text
from nmt.files.paths import is_stream, not_writable, real_path, require_directory

Bytes = IO[bytes] | gzip.GzipFile


@contextmanager
def open_output(path: str) -> Iterator[TextIO]:
    """A text file that appears under its name only when it is complete, compressed if the name ends in .gz; `-` is
    standard output.

    It is written beside its place and replacing there at the end, so a reader never sees half of it and a failure
    leaves what was there. Devices and pipes are written directly.

    Raises:
        NmtError: the path is a directory, or its directory does not exist.
    """
    with ExitStack() as moves:
        if path.endswith(".gz"):
            with _opened_bytes(path, moves) as packed, TextIOWrapper(packed, encoding="utf-8") as text:
                yield text
        else:
            with _opened(path, moves) as file:
                yield file


@contextmanager
def open_outputs(paths: Sequence[str]) -> Iterator[list[Bytes]]:
    """Files for bytes that belong together: all of them appear under their names, or after an error none."""
    with ExitStack() as moves, ExitStack() as files:  # all are closed before the first gets its name
        yield [files.enter_context(_opened_bytes(path, moves)) for path in paths]


@contextmanager
def _opened_bytes(path: str, moves: ExitStack) -> Iterator[Bytes]:
    """What is written is compressed if the name ends in .gz."""
    with _opened(path, moves) as file:
        if path.endswith(".gz"):
            with gzip.GzipFile("", "wb", 6, file.buffer, mtime=0) as packed:  # the same text gives the same bytes
                yield packed
        else:
            yield file.buffer


@contextmanager
def _opened(path: str, moves: ExitStack) -> Iterator[TextIO]:
    """A file as `open_output` says, whatever its name ends in, which it gets when `moves` is closed."""
    place = Path(path)
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
    elif place.is_dir():
        raise NmtError(f"{path}: is a directory; name a file to write")
    elif is_stream(place):
        with open_text(place, "w") as file:
            yield file
    else:
        place = real_path(place)  # a symbolic link stays one
        require_directory(place.parent)
        with _open_beside(place, moves) as file:
            yield file


def _open_beside(place: Path, moves: ExitStack) -> TextIO:
    """A hidden file beside its place, where it goes when `moves` is closed."""
    temporary = place.with_name(f".{place.name}.{os.getpid()}.part")
    moves.enter_context(replacing(temporary, place))  # before it is made: a signal may come as soon as it is there
    try:
        return open_text(temporary, "w", place)
    except OSError as error:
        raise not_writable(place, error) from None
