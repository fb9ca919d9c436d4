"""Symbolic links, streams and output directories."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt.errors import NmtError


def real_path(path: Path) -> Path:
    """Where symbolic links lead; a circle of them, which leads nowhere, stays as it is."""
    return Path(os.path.realpath(path))


def is_stream(path: Path) -> bool:
    """Whether it is a pipe or a device, which gives its contents only once."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def output_directory(path: Path) -> Iterator[Path]:
    """A directory to write into, made where it is missing; where nothing comes to be in it, it goes again."""
    made = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield path
    finally:
        if made and path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def can_be_read_again(paths: Iterable[str]) -> bool:
    """Whether all of these are files, and none a pipe or a device, which is empty once it has been read."""
    return not any(path == "-" or is_stream(Path(path)) for path in paths)


def require_directory(path: Path) -> None:
    if not path.is_dir():
        raise NmtError(f"{path}: {'is a file' if path.exists() else 'no such directory'}; make a directory first")
    if not os.access(path, os.W_OK):
        raise not_writable(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def not_writable(path: Path, error: OSError) -> NmtError:
    return NmtError(f"{path}: {error.strerror}: choose a directory that can be written into")
