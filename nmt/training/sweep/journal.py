"""The journal of a study: a line of JSON for each change, which a kill at any moment leaves readable."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

from nmt.errors import NmtError
from nmt.files.atomic_writing import errors_named
from nmt.files.locking import locked


class Journal(JournalFileBackend):
    """optuna's file of changes; errors of the disk name it."""

    def __init__(self, path: Path, lock: JournalFileOpenLock) -> None:
        super().__init__(str(path), lock)
        self._path = path

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Writes changes, and waits until they are on the disk."""
        with errors_named(self._path):
            super().append_logs(logs)


class _KernelLock(JournalFileOpenLock):
    """A lock that ends with its process. optuna's own locks are files, which a killed process leaves behind."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: AbstractContextManager[None] | None = None

    def acquire(self) -> bool:
        """Waits for the lock."""
        held = locked(self._path, None)
        held.__enter__()
        self._held = held  # only the thread that holds the lock comes here
        return True

    def release(self) -> None:
        """Gives the lock back."""
        held, self._held = self._held, None
        if held is not None:
            held.__exit__(None, None, None)


def open_journal(path: Path) -> Journal:
    """The journal at a path, or a new one. An incomplete last line is cut off: its writer was stopped.

    Raises:
        NmtError: another line is damaged.
    """
    lock = _KernelLock(path)
    journal = Journal(path, lock)  # makes the file
    lock.acquire()
    try:
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            with errors_named(path), open(path, "rb+") as file:
                file.truncate(whole)
    finally:
        lock.release()
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        if not _is_change(line):
            raise NmtError(f"{path}, line {number}: damaged: restore the file, or choose another --output")
    return journal


def _is_change(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
