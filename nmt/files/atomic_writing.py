"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nmt.errors import NmtError
from nmt.files.paths import is_stream, real_path


@contextmanager
def replacing(temporary: Path, place: Path) -> Iterator[None]:
    """Gives the file `temporary` its name `place` at the end; after an error it goes."""
    try:
        yield
        os.replace(temporary, place)
    finally:
        with suppress(OSError):  # the usual case: it has its name by now
            temporary.unlink()


@contextmanager
def replacement_for(path: Path, error: type[NmtError]) -> Iterator[Path]:
    """A name beside `path`, in directories made if need be; what is written there gets its name at the end, or goes.

    Raises:
        NmtError: of the class `error`; the place cannot be written.
    """
    try:
        if is_stream(path):  # a pipe or a device takes what is written as it comes
            yield path
            return
        place = real_path(path)  # a symbolic link stays one
        temporary = place.with_name(f".{uuid.uuid4().hex}{place.suffix}")
        place.parent.mkdir(parents=True, exist_ok=True)
        with replacing(temporary, place):
            yield temporary
    except OSError as problem:
        raise error(f"{path} cannot be written: {problem.strerror}; make room there, or choose another place") from None


def write_atomically(path: Path, content: bytes) -> None:
    """Writes content that is at hand under another name beside its place and moves it there when it has reached the
    disk: it is never half there, even if the machine stops. One process writes to a place at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    try:
        with replacing(temporary, path), open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
