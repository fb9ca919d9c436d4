"""Output files that a user names: plain, .gz or .zst, standard output, devices and pipes, several at once."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, TextIO

from nmt.errors import NmtError
from nmt.files.atomic_writing import replacing
from nmt.files.named_files import open_bytes
from nmt.files.paths import is_stream, not_writable, real_path, require_directory
from nmt.files.reading import package

ByteOutput = IO[bytes] | gzip.GzipFile


@contextmanager
def open_output(path: str) -> Iterator[TextIO]:
    """One output for UTF-8 text; see `open_outputs`."""
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    with open_outputs([path]) as (file,), TextIOWrapper(file, encoding="utf-8") as text:
        yield text


@contextmanager
def open_outputs(paths: Sequence[str]) -> Iterator[list[ByteOutput]]:
    """Outputs that belong together: all of them appear under their names when the block ends, or after an error none.

    Args:
        paths: files; a name that ends in .gz or .zst is compressed, `-` is standard output. Devices and pipes are
            written directly.

    Raises:
        NmtError: a path is a directory, its directory is missing or cannot be written, or a package is missing.
        OSError: a file cannot be written completely; the error names it.
    """
    require_writable(*paths)
    files = [path for path in paths if not _is_stream(path)]
    with replacing([Path(path) for path in files]) as temporaries, ExitStack() as opened:
        beside = dict(zip(files, temporaries, strict=True))
        yield [opened.enter_context(_open(path, beside.get(path))) for path in paths]


@contextmanager
def _open(path: str, temporary: Path | None) -> Iterator[ByteOutput]:
    """One output for bytes; `temporary` is the file to fill, None for standard output, a device or a pipe."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    try:
        file = open_bytes(temporary or Path(path), "w", Path(path))
    except OSError as error:
        raise not_writable(Path(path), error) from None
    with file:
        name = path.lower()
        if name.endswith(".gz"):
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:  # without a time: equal text gives equal bytes
                yield packed
        elif name.endswith(".zst"):
            with _zstd().ZstdFile(file, "w") as packed:
                yield packed
        else:
            yield file


def _zstd() -> Any:
    return package("backports.zstd", "writing .zst files")


def _is_stream(path: str) -> bool:
    return path == "-" or is_stream(Path(path))


def require_writable(*paths: str) -> None:
    """Refuses outputs before the work for them begins.

    Raises:
        NmtError: a path is a directory, its directory is missing or cannot be written, or a package is missing.
    """
    for path in paths:
        if Path(path).is_dir():
            raise NmtError(f"{path}: is a directory; name a file to write")
        if not _is_stream(path):
            require_directory(real_path(Path(path)).parent)
        if path.lower().endswith(".zst"):
            _zstd()
