"""Files that are read: local or remote, plain or compressed. Every reader of text opens its files here.

A name such as s3://bucket/text.gz is a remote file. fsspec opens it; Arrow's clients serve s3:// and gs://, which need
no further package. Packages are imported when a name needs them.
"""

from __future__ import annotations

import contextlib
import glob
import gzip
import importlib
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from nmt.errors import NmtError, install_command
from nmt.files.digests import digest

_REMOTE = re.compile(r"([a-z][a-z0-9+]*)://", re.IGNORECASE)
_ARROW = {"s3": "S3FileSystem", "s3a": "S3FileSystem", "gs": "GcsFileSystem", "gcs": "GcsFileSystem"}
"""Arrow's client of each kind of remote name."""
_BUFFER = 1 << 20
"""Bytes that a remote file is read ahead."""
COMPRESSED = (".gz", ".zst")
"""Ends of the names of compressed files."""


def is_remote(path: str) -> bool:
    """Whether a name is of a remote file, such as s3://bucket/text.gz."""
    return _REMOTE.match(path) is not None


def plain_name(path: str) -> str:
    """A name without the end that says how the file is compressed."""
    end = os.path.splitext(path)[1]
    return path.removesuffix(end) if end.lower() in COMPRESSED else path


@contextlib.contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """The content of a file, decompressed if its name ends in .gz or .zst; of standard input for -.

    Raises:
        OSError: the file cannot be read; EOFError and those of `damage_errors`, while it is read: it is damaged.
        NmtError: a package is missing.
    """
    if path == "-":
        yield sys.stdin.buffer
        return
    with raw_file(path) as file:
        name = path.lower()
        if name.endswith(".gz"):
            with gzip.GzipFile(fileobj=file) as packed:
                yield packed  # type: ignore[misc]
        elif name.endswith(".zst"):
            with package("backports.zstd", "reading .zst files").ZstdFile(file) as packed:
                yield packed
        else:
            yield file


def damage_errors() -> tuple[type[Exception], ...]:
    """The errors of reading a compressed file that is cut off or damaged."""
    found: tuple[type[Exception], ...] = (EOFError, gzip.BadGzipFile, zlib.error)
    if zstd := sys.modules.get("backports.zstd"):
        found += (zstd.ZstdError,)
    return found


@contextlib.contextmanager
def raw_file(path: str) -> Iterator[IO[bytes]]:
    """The bytes of a file as they are stored.

    Raises:
        OSError: the file cannot be read.
        NmtError: a package is missing, or no client knows the kind of the remote name.
    """
    if not is_remote(path):
        with open(path, "rb") as local:
            yield local
        return
    system, inner = file_system(path)
    with _errors_of_remote(path), system.open(inner, "rb") as file:
        yield io.BufferedReader(file, _BUFFER) if isinstance(file, io.RawIOBase) else file


def file_system(path: str) -> tuple[Any, str]:
    """The file system of a remote name, and the name in it.

    Raises:
        NmtError: a package is missing, or no client knows the kind of name.
    """
    fsspec = package("fsspec", "reading remote files")
    found = _REMOTE.match(path)
    assert found is not None
    kind = found[1].lower()
    with _errors_of_remote(path):
        if kind in _ARROW:
            filesystems = package("pyarrow.fs", f"reading {kind}:// files")
            # Arrow takes an endpoint of the environment too, but makes a host name of the bucket there.
            endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
            options = {"endpoint_override": endpoint} if endpoint and kind.startswith("s3") else {}
            client = getattr(filesystems, _ARROW[kind])(**options)
            return package("fsspec.implementations.arrow", "reading remote files").ArrowFSWrapper(client), path[
                found.end() :
            ]
        system, inner = fsspec.core.url_to_fs(path)
        return system, inner


@contextlib.contextmanager
def _errors_of_remote(path: str) -> Iterator[None]:
    """Turns the errors of clients, which have many types and many lines, into one line."""
    try:
        yield
    except (NmtError, EOFError, FileNotFoundError):
        raise
    except ImportError as error:
        raise NmtError(f"{path}: its client is missing: {one_line(error)}") from None
    except Exception as error:
        if isinstance(error, damage_errors()):
            raise
        raise NmtError(f"{path}: cannot be read: {one_line(error)}") from None


def one_line(error: Exception) -> str:
    """The message of an error on one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def package(name: str, purpose: str) -> Any:
    """A package of the extra `corpora`, imported.

    Raises:
        NmtError: the package is missing; the message names the extra.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        distribution = name.partition(".fs")[0]
        raise NmtError(f"{purpose} needs {distribution}: {install_command('corpora')}") from None


class FileState(NamedTuple):
    """What tells whether a file has changed, without reading it."""

    size: int
    changed: str
    """Time of the last change in nanoseconds; for a remote file what its server names instead, such as an ETag."""


def file_state(path: str) -> FileState:
    """The size and the state of a file.

    Raises:
        OSError, NmtError: the file does not exist, or cannot be reached.
    """
    if not is_remote(path):
        found = os.stat(path)
        # a program may set the time of a change (mtime), as tar does, and not the time of this
        return FileState(found.st_size, f"{found.st_mtime_ns} {found.st_ctime_ns}")
    system, inner = file_system(path)
    with _errors_of_remote(path):
        about = system.info(inner)
    changed = next(
        (about[name] for name in ("ETag", "etag", "mtime", "created", "LastModified") if about.get(name)), ""
    )
    return FileState(int(about.get("size") or 0), str(changed))


def digest_of(path: str) -> str:
    """SHA-256 of the bytes of a local or remote file, in hexadecimal.

    Raises:
        OSError, NmtError: the file cannot be read.
    """
    with raw_file(path) as file:
        return digest(file)  # type: ignore[arg-type]


def matching_files(pattern: str) -> list[str]:
    """The files whose names match a pattern with *, ? and [...], sorted; a name that exists stands for itself.

    Raises:
        NmtError: no file matches, or the server cannot be reached.
    """
    if not any(mark in pattern for mark in "*?["):
        return [pattern]
    if is_remote(pattern):
        system, inner = file_system(pattern)
        with _errors_of_remote(pattern):
            names = system.glob(inner)
            if not names:  # glob hides every error
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    system.ls(re.split(r"[*?[]", inner)[0].rpartition("/")[0])
        start = pattern[: _REMOTE.match(pattern).end()]  # type: ignore[union-attr]
        found = [
            name if is_remote(name) else start + name.removeprefix("/" * (not inner.startswith("/"))) for name in names
        ]
    else:
        found = [pattern] if os.path.exists(pattern) else glob.glob(pattern, recursive=True)
    files = sorted(found)
    if not files:
        raise NmtError(f"{pattern}: no file has such a name: check the pattern, and put it in quotes")
    return files
