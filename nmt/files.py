"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nmt.errors import NmtError


@contextmanager
def unfinished(path: Path, error: type[NmtError]) -> Iterator[Path]:
    """A name beside `path`, in directories made if need be; what is written there gets its name at the end, or goes.

    Raises:
        NmtError: of the class `error`; the place cannot be written.
    """
    temporary = path.with_name(f".{uuid.uuid4().hex}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as problem:
        raise error(f"{path} cannot be written: {problem.strerror}; choose another place") from None
    finally:
        with suppress(OSError):  # the usual case: it has its name by now
            temporary.unlink()


def write_whole(path: Path, content: bytes) -> None:
    """Writes content that is at hand under another name beside its place and moves it there when it has reached the
    disk: it is never half there, even if the machine stops. One process writes to a place at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
