"""What preparation makes of a corpus, kept for the next run that wants the same.

saved_models/.cache/
    KEY/                 the files of one preparation, named as in a run directory
        manifest.json    what they were made from, and the SHA-256 of each
    KEY-TOKEN.part/      one that is being made, or whose process was killed

A run copies what it takes and needs the cache no more, so the whole of it, or any part, can be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nmt.files.atomic_writing import write_atomically
from nmt.files.digests import digest_file

LIMIT = 5 * 2**30
"""Bytes that all entries have at most together; the newest stays even if it alone has more."""

ABANDONED = 24 * 3600
"""Seconds after which a `.part` is taken to belong to a process that was killed."""

MANIFEST = "manifest.json"


class Cache:
    """Entries found by what they were made from.

    Nothing is locked. An entry gets its name by one rename, when it is complete; what is copied out of it is compared
    with its manifest; and two processes that make the same entry at once both do the work.

    Args:
        directory: made when the first entry is.
        limit: bytes; what was used longest ago is deleted to stay below.
    """

    def __init__(self, directory: Path, limit: int = LIMIT) -> None:
        self.directory, self._limit = directory, limit

    def fetch(self, origin: dict[str, Any], make: Callable[[Path], None], destination: Path) -> bool:
        """Copies the entry's files into a directory; makes the entry first where there is none, or a damaged one.

        Args:
            origin: all that the files depend on, as JSON can hold it.
            make: writes the files into a directory that is not there yet; when it raises, nothing is left.
            destination: made where it is missing.

        Returns:
            Whether the entry was there.
        """
        entry = self.directory / hashlib.sha256(json.dumps(origin, sort_keys=True).encode()).hexdigest()[:32]
        if _copy(entry, destination):
            with contextlib.suppress(FileNotFoundError):  # deleted since
                os.utime(entry)
            return True
        part = self._part(entry.name)
        try:
            make(part)
            files = {str(path.relative_to(part)): digest_file(path) for path in _files(part)}
            manifest = {"origin": origin, "files": files}
            write_atomically(part / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False).encode())
            if not _copy(part, destination):
                raise OSError(f"{destination}: what was written there reads differently; is the disk in order?")
            self._discard(entry)
            with contextlib.suppress(OSError):  # another process has just put its own there: as good
                os.rename(part, entry)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):  # somebody else is clearing up
            self._shrink()
        return False

    def _part(self, name: str) -> Path:
        return self.directory / f"{name}-{secrets.token_hex(4)}.part"

    def _discard(self, entry: Path) -> None:
        """Deletes an entry; it loses its name first, so that nobody takes it for whole."""
        part = self._part(entry.name)
        with contextlib.suppress(OSError):
            os.rename(entry, part)
            shutil.rmtree(part, ignore_errors=True)

    def _shrink(self) -> None:
        """Deletes what processes that were killed have left, and the entries used longest ago beyond the limit."""
        used = {path: path.stat().st_mtime for path in self.directory.iterdir()}
        entries = sorted((path for path in used if path.suffix != ".part"), key=used.__getitem__, reverse=True)
        total = 0
        for number, entry in enumerate(entries):
            total += sum(path.stat().st_size for path in _files(entry))
            if number and total > self._limit:
                self._discard(entry)
        for path, when in used.items():
            if path.suffix == ".part" and when < time.time() - ABANDONED:
                shutil.rmtree(path, ignore_errors=True)


def _copy(entry: Path, destination: Path) -> bool:
    """Copies the files that the manifest names; False where one of them is missing or is not what it says."""
    try:
        files = json.loads((entry / MANIFEST).read_text(encoding="utf-8"))["files"]
        for name, expected in files.items():
            target = destination / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(entry / name, target)
            if digest_file(target) != expected:
                return False
    except (FileNotFoundError, ValueError, KeyError):
        return False
    return True


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())
