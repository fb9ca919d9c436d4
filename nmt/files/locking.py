"""A lock that keeps a file or directory to one process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, error: Exception | None) -> Iterator[None]:
    """Locks a file or directory for this block. The system releases the lock when the process ends, however it ends.

    A system or a file system without such locks locks nothing.

    Args:
        error: raised if another process, or another block of this process, holds the lock; None waits for the lock.
    """
    try:
        import fcntl
    except ImportError:  # not POSIX
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if error else 0))
        except BlockingIOError:
            if error:
                raise error from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(handle)


def owner_ended(path: Path) -> bool:
    """Whether the process that `locked` this path has ended. False if the system cannot tell."""
    try:
        import fcntl

        handle = os.open(path, os.O_RDONLY)
    except (ImportError, OSError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
