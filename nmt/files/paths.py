"""Paths: symbolic links, streams, directories for output, names that were mistyped."""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt.errors import NmtError


def real_path(path: Path) -> Path:
    """The path behind symbolic links. A circle of links stays as it is."""
    return Path(os.path.realpath(path))


def is_stream(path: Path) -> bool:
    """Whether a path is a pipe or a device: it can be read only once, and is written directly."""
    return path.exists() and not path.is_file() and not path.is_dir()


def can_be_read_again(paths: Iterable[str]) -> bool:
    """Whether all of these are files; standard input (-), pipes and devices are empty after the first reading."""
    return not any(path == "-" or is_stream(Path(path)) for path in paths)


def similar_path(path: Path, suits: Callable[[Path], bool]) -> Path | None:
    """The path beside a missing one whose name is most similar; None: no name is similar.

    Args:
        suits: whether a path is of the right kind.
    """
    try:
        names = [other.name for other in path.parent.iterdir() if suits(other)]
    except OSError:
        return None
    near = difflib.get_close_matches(path.name, names, n=1)
    return path.parent / near[0] if near else None


@contextmanager
def output_directory(path: Path) -> Iterator[Path]:
    """Creates a directory if it is missing. A directory that was created here and is still empty is removed again."""
    created = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield path
    finally:
        if created and path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def require_directory(path: Path) -> None:
    """Refuses a directory that is missing or cannot be written.

    Raises:
        NmtError: names the directory.
    """
    if not path.is_dir():
        raise NmtError(f"{path}: {'is a file' if path.exists() else 'no such directory'}; make a directory first")
    if not os.access(path, os.W_OK):
        raise not_writable(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def not_writable(path: Path, error: OSError) -> NmtError:
    """The error of a path in a directory that cannot be written."""
    return NmtError(f"{path}: {error.strerror}: choose a directory with write permission")
