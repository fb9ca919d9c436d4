"""Files that are written whole or not at all."""

from __future__ import annotations

import hashlib
import io
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from nmt.errors import NmtError

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


@contextmanager
def renamed(temporary: Path, place: Path) -> Iterator[None]:
    """Gives the file `temporary` its name `place` at the end; after an error it goes."""
    try:
        yield
        os.replace(temporary, place)
    finally:
        with suppress(OSError):  # the usual case: it has its name by now
            temporary.unlink()


@contextmanager
def unfinished(path: Path, error: type[NmtError]) -> Iterator[Path]:
    """A name beside `path`, in directories made if need be; what is written there gets its name at the end, or goes.

    Raises:
        NmtError: of the class `error`; the place cannot be written.
    """
    try:
        if read_once(path):  # a pipe or a device takes what is written as it comes
            yield path
            return
        place = real(path)  # a symbolic link stays one
        temporary = place.with_name(f".{uuid.uuid4().hex}{place.suffix}")
        place.parent.mkdir(parents=True, exist_ok=True)
        with renamed(temporary, place):
            yield temporary
    except OSError as problem:
        raise error(f"{path} cannot be written: {problem.strerror}; make room there, or choose another place") from None


@contextmanager
def directory_made(path: Path) -> Iterator[Path]:
    """A directory to write into, made where it is missing; where nothing comes to be in it, it goes again."""
    made = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield path
    finally:
        if made and path.is_dir() and not any(path.iterdir()):
            path.rmdir()


@contextmanager
def locked(path: Path, error: Exception) -> Iterator[None]:
    """Keeps a file or directory to this process while it works in it, and no longer than it lives, whatever ends it.
    Where the system has no such locks, nothing is kept.

    Raises:
        error: another process has it, or another place of this one.
    """
    try:
        import fcntl
    except ImportError:  # not POSIX
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise error from None
        except OSError:  # a file system without them
            pass
        yield
    finally:
        os.close(handle)


def real(path: Path) -> Path:
    """Where symbolic links lead; a circle of them, which leads nowhere, stays as it is."""
    return Path(os.path.realpath(path))


def read_once(path: Path) -> bool:
    """Whether it is a pipe or a device, which gives its contents only once."""
    return path.exists() and not path.is_file() and not path.is_dir()


def write_whole(path: Path, content: bytes) -> None:
    """Writes content that is at hand under another name beside its place and moves it there when it has reached the
    disk: it is never half there, even if the machine stops. One process writes to a place at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    try:
        with renamed(temporary, path), open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def digest_file(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return digest(file)


def digest(file: BinaryIO) -> str:
    """SHA-256 of what is left to read, in hexadecimal."""
    found = hashlib.sha256()
    while block := file.read(2**20):
        found.update(block)
    return found.hexdigest()
