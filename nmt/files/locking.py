"""Locks that keep a file or directory to one process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
