"""Files that are written completely or not at all.

A writer fills a hidden temporary file in the directory of the final file and renames it at the end. A reader sees the
old content or the new one. All writers of the package use `replacing` or, for temporary files that outlive a process,
`move_into_place`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from nmt.errors import NmtError
from nmt.files.locking import locked, owner_ended
from nmt.files.paths import is_stream, real_path

_SHOWN = 57
"""Characters of the final name in a temporary name: at four bytes each the result fits the usual limit of 255 bytes."""

NEW_SECONDS = 1
"""Age from which an unlocked temporary directory belongs to a writer that has ended: a new one is not locked yet."""


@contextmanager
def replacing(places: Sequence[Path], unique: bool = True, durable: bool = True) -> Iterator[list[Path]]:
    """Yields a temporary path for each place; the temporary files replace the places when the block ends.

    After an error the temporary files are removed and every place keeps its old content. A symbolic link stays a link:
    the file behind it is replaced.

    Args:
        places: the final paths, in directories that exist.
        unique: choose temporary names that no other writer uses. False: fixed names, for places with one writer at a
            time. A fixed file that a killed process left behind is overwritten by the next writer.
        durable: see `move_into_place`.

    Raises:
        OSError: a file cannot be moved; the error names its final path.
    """
    final = [real_path(place) for place in places]
    temporaries = [_temporary(place, unique) for place in final]
    try:
        yield temporaries
        move_into_place(temporaries, final, durable)
    finally:
        for temporary in temporaries:
            with suppress(OSError):  # usually the file has its final name by now
                temporary.unlink()


def move_into_place(temporaries: Sequence[Path], places: Sequence[Path], durable: bool = True) -> None:
    """Renames each temporary file to its place.

    Args:
        temporaries: complete files, each in the directory of its place.
        places: the final paths, without symbolic links.
        durable: wait until contents and names are on the disk, so that they survive a power loss. All contents are on
            the disk before the first file is renamed.

    Raises:
        OSError: the error names the final path.
    """
    for temporary, place in zip(temporaries, places, strict=True):
        with errors_named(place):
            _keep_mode(temporary, place)
            if durable:
                sync(temporary)
    for temporary, place in zip(temporaries, places, strict=True):
        with errors_named(place):
            os.replace(temporary, place)
    for directory in {place.parent for place in places} if durable else ():
        with suppress(OSError):  # some file systems cannot sync a directory
            sync(directory)


def _keep_mode(temporary: Path, place: Path) -> None:
    """Gives a file the permissions of the file that it replaces.

    Raises:
        PermissionError: that file is write-protected.
    """
    if not place.is_file():
        return
    if not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
    with suppress(OSError):  # some file systems have no permissions
        shutil.copymode(place, temporary)


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file completely or not at all, even if the machine stops; missing directories are created.

    One process writes to a path at a time.

    Raises:
        OSError: the error names `path`.
    """
    real_path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing([path], unique=False) as (temporary,), errors_named(path):
        temporary.write_bytes(content)


@contextmanager
def replacement_for(path: Path, error: type[NmtError], durable: bool = False) -> Iterator[Path]:
    """Yields a path for code that opens its file itself; that file replaces `path` when the block ends.

    Missing directories are created. A pipe or a device has no replacement: its own path is yielded.

    Args:
        durable: see `move_into_place`. Drawings and tables need not be: they can be made again.

    Raises:
        NmtError: of the class `error`, if the file cannot be written.
    """
    try:
        if is_stream(path):
            yield path
            return
        real_path(path).parent.mkdir(parents=True, exist_ok=True)
        with replacing([path], durable=durable) as (temporary,):
            yield temporary
    except OSError as problem:
        raise error(f"{path} cannot be written: {problem.strerror}; make room there, or choose another place") from None


@contextmanager
def complete_directory(path: Path, error: type[NmtError]) -> Iterator[Path]:
    """Yields a temporary directory; it becomes `path` when the block ends, and is removed after an error.

    Its files and names are on the disk before it gets its name, so that a power loss leaves all of it or nothing.
    Missing directories above it are created. Temporary directories of killed writers to the same path are removed.

    Raises:
        NmtError: of the class `error`, if `path` exists and is not an empty directory, or cannot be written.
    """
    try:
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise error(f"{path}: already exists; name a new directory, or delete it first")
        final = real_path(path)
        final.parent.mkdir(parents=True, exist_ok=True)
        _remove_left(final)
        temporary = _temporary(final, unique=True)
        temporary.mkdir()
        try:
            with locked(temporary, None):
                yield temporary
                for directory, _, names in os.walk(temporary, topdown=False):
                    for name in names:
                        sync(Path(directory, name))
                    with suppress(OSError):  # see `move_into_place`
                        sync(Path(directory))
                os.replace(temporary, final)
            with suppress(OSError):
                sync(final.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as problem:
        raise error(f"{path} cannot be written: {problem.strerror}; make room there, or choose another place") from None


def _remove_left(place: Path) -> None:
    """Removes the temporary directories for a place whose writers have ended without removing them."""
    pattern = re.compile(re.escape(f".{shortened(place.name)}") + r"\.[0-9a-f]{8}\.part")
    for path in place.parent.iterdir():
        if pattern.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            with suppress(OSError):  # another writer has removed it
                if time.time() - path.stat().st_mtime > NEW_SECONDS and owner_ended(path):
                    shutil.rmtree(path)


@contextmanager
def errors_named(path: Path) -> Iterator[None]:
    """Operating system errors inside of the block name `path` in place of a temporary file.

    Raises:
        OSError: with the number and message of the original error.
    """
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _temporary(place: Path, unique: bool) -> Path:
    mark = f".{uuid.uuid4().hex[:8]}" if unique else ""
    return place.with_name(f".{shortened(place.name)}{mark}.part")


def shortened(name: str) -> str:
    """A name for a temporary file: a long name is cut, and a digest distinguishes it from others with its beginning."""
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}-{hashlib.sha256(os.fsencode(name)).hexdigest()[:8]}"


def sync(path: Path) -> None:
    """Waits until a file's content, or a directory's names, are on the disk.

    Raises:
        OSError: the disk is full or broken, or the file system cannot sync a directory; the error names `path`.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with errors_named(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
