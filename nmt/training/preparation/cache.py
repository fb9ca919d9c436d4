"""The cache of prepared corpora: a second run with equal text and settings copies the files of the first.

saved_models/.cache/
    KEY/                 the files of one preparation, named as in a run directory
        manifest.json    the key, and the SHA-256 of each file
    KEY-TOKEN.part/      an unfinished entry: its process locks it, and the next preparation deletes it if no one does

A run copies the files, so the cache or any part of it can be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nmt.files.atomic_writing import sync, write_atomically
from nmt.files.digests import digest_file
from nmt.files.locking import locked, owner_ended

LIMIT = 5 * 2**30
"""Largest size of all entries together in bytes; the newest entry stays whatever its size."""

ABANDONED = 24 * 3600
"""Age in seconds at which a `.part` counts as left by a killed process on a file system without locks."""

MANIFEST = "manifest.json"

PART = ".part"
"""Suffix of an unfinished entry."""


class Cache:
    """Entries that are found by a key: everything that their files depend on.

    Reading needs no locks. One rename gives a complete entry its name, and each copy is compared with the manifest.
    Two processes that make the same entry at once both do the work.

    Args:
        directory: made with the first entry.
        limit: bytes; the entries that were used longest ago are deleted first.
    """

    def __init__(self, directory: Path, limit: int = LIMIT) -> None:
        self.directory, self._limit = directory, limit

    def fetch(self, key: dict[str, Any], make: Callable[[Path], None], destination: Path) -> bool:
        """Copies an entry's files into a directory; makes the entry first if it is missing or damaged.

        Args:
            key: everything that the files depend on, as JSON values.
            make: writes the files into a directory, which it creates; if it raises, nothing remains.
            destination: created if it is missing.

        Returns:
            Whether the entry existed before.

        Raises:
            OSError: a copy differs from its original.
        """
        key = json.loads(json.dumps(key))  # as it will be read
        entry = self.directory / hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:32]
        if _copy(entry, key, destination):
            with contextlib.suppress(OSError):  # another process has deleted it since, or another user owns it
                os.utime(entry)
            return True
        if not _is_writable(self.directory):  # of another user; the run needs the files, and not the cache
            make(destination)
            return False
        self._delete_abandoned()
        with self._new_part(entry.name) as part:
            make(part)
            files = {str(path.relative_to(part)): digest_file(path) for path in _files(part)}
            manifest = {"key": key, "files": files}
            write_atomically(part / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False).encode())
            if not _copy(part, key, destination):
                raise OSError(f"{destination}: a file there reads differently than it was written: check the disk")
            self._discard(entry)
            with contextlib.suppress(OSError):  # another process has just made the same entry
                os.rename(part, entry)
        with contextlib.suppress(FileNotFoundError):  # another process is deleting entries too
            self._shrink()
        return False

    def _part(self, name: str) -> Path:
        return self.directory / f"{name}-{secrets.token_hex(4)}{PART}"

    @contextlib.contextmanager
    def _new_part(self, name: str) -> Iterator[Path]:
        """An empty directory that this process locks. Whatever is left of it at the end is deleted."""
        part = self._part(name)
        unlocked = part.with_suffix(f".new{PART}")  # so that a directory named `part` is locked at all times
        made = [path for path in (self.directory, self.directory.parent) if not path.exists()]
        unlocked.mkdir(parents=True)
        try:
            with locked(unlocked, FileExistsError(f"{unlocked} is in use")):
                os.rename(unlocked, part)
                yield part
        finally:
            shutil.rmtree(part, ignore_errors=True)
            for path in made:  # a failed preparation leaves no empty directories
                with contextlib.suppress(OSError):
                    path.rmdir()

    def _discard(self, entry: Path) -> None:
        """Deletes an entry. It loses its name first, so that no process finds it incomplete."""
        part = self._part(entry.name)
        with contextlib.suppress(OSError):
            os.rename(entry, part)
            shutil.rmtree(part, ignore_errors=True)

    def _delete_abandoned(self) -> None:
        """Deletes unfinished entries of killed processes."""
        for part in self.directory.glob(f"*{PART}"):
            with contextlib.suppress(OSError):  # its process has just finished it, or is of another user
                old = part.stat().st_mtime < time.time() - ABANDONED
                if old or (not part.stem.endswith(".new") and owner_ended(part)):
                    shutil.rmtree(part, ignore_errors=True)

    def _shrink(self) -> None:
        """Deletes the entries used longest ago beyond the limit."""
        used = {path: path.stat().st_mtime for path in self.directory.iterdir() if path.suffix != PART}
        total = 0
        for number, entry in enumerate(sorted(used, key=used.__getitem__, reverse=True)):
            total += sum(path.stat().st_size for path in _files(entry))
            if number and total > self._limit:
                self._discard(entry)


def _is_writable(directory: Path) -> bool:
    """Whether files can be made in a directory, which need not exist yet."""
    return os.access(next(path for path in (directory, *directory.absolute().parents) if path.exists()), os.W_OK)


def _copy(entry: Path, key: dict[str, Any], destination: Path) -> bool:
    """Copies the files that the manifest names, and waits until they are on the disk.

    Returns:
        False if the entry has another key, or a file is missing, has another digest, or lies outside of the entry.
    """
    try:
        manifest = json.loads((entry / MANIFEST).read_text(encoding="utf-8"))
        files = manifest["files"]
        if manifest["key"] != key or not all(_is_inside(entry, name) for name in files):
            return False
        for name, expected in files.items():
            target = destination / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(entry / name, target)
            if digest_file(target) != expected:
                return False
            sync(target)
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
    for directory in {parent for name in files for parent in (destination / name).parents}:
        if directory.is_relative_to(destination.parent):
            with contextlib.suppress(OSError):  # some file systems cannot sync a directory
                sync(directory)
    return True


def _is_inside(entry: Path, name: str) -> bool:
    """Whether a name in a manifest is a relative path to a file of the entry, and no link leads out of it."""
    path = Path(name)
    relative = not path.is_absolute() and ".." not in path.parts
    return relative and (entry / path).is_file() and (entry / path).resolve().is_relative_to(entry.resolve())


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())
