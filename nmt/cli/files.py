"""Lines in, whole files out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from nmt.corpus import read_lines
from nmt.errors import NmtError


def count_lines(path: str) -> int | None:
    """How many lines a file has, or None where it can be read only once (standard input, a pipe).

    Raises:
        CorpusError: the file is not valid UTF-8, so that this is known before any work is done.
    """
    return sum(1 for _ in read_lines(path)) if path != "-" and not _read_once(Path(path)) else None


def require_same_length(counts: dict[str, int | None]) -> int | None:
    """The number of lines that files which belong together line by line all have; None where it is known of no file.

    Raises:
        NmtError: two of the counts that are known differ; the message has them all.
    """
    known = {path: count for path, count in counts.items() if count is not None}
    if len(set(known.values())) > 1:
        lines = ", ".join(f"{path} has {count}" for path, count in known.items())
        raise NmtError(f"the files belong together line by line but differ in lines: {lines}")
    return next(iter(known.values()), None)


@contextmanager
def whole_file(path: str) -> Iterator[TextIO]:
    """A text file that appears under its name only when it is complete; `-` is standard output.

    It is written beside its place and renamed there at the end, so a reader never sees half of it and a failure
    leaves what was there. Devices and pipes are written directly.

    Raises:
        NmtError: the path is a directory, or its directory does not exist.
    """
    place = Path(path)
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
    elif place.is_dir():
        raise NmtError(f"{path}: is a directory; name a file to write")
    elif _read_once(place):
        with place.open("w", encoding="utf-8") as file:
            yield file
    else:
        with _renamed_at_the_end(place) as file:
            yield file


@contextmanager
def _renamed_at_the_end(place: Path) -> Iterator[TextIO]:
    place = place.resolve()  # a symbolic link stays one
    if not place.parent.is_dir():
        raise NmtError(f"{place.parent}: no such directory; make it first")
    temporary = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            yield file
        temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)


def _read_once(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()
