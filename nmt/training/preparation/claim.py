"""A run directory belongs to one training at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt.files.locking import locked
from nmt.files.paths import output_directory
from nmt.run.errors import RunError


@contextmanager
def claimed(directory: Path) -> Iterator[None]:
    """Keeps other processes from training the run in `directory`, which is made if it is missing.

    Without the claim, two trainings that begin at once under one name would overwrite each other's text.

    Raises:
        RunError: another process trains the run, or the directory is not writable.
    """
    existing = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    if not os.access(existing, os.W_OK):
        raise RunError(f"{existing} is not writable: give another --directory")
    if existing.is_file():
        raise RunError(f"{existing} is a file: give the run another --name or --directory")
    taken = RunError(f"another process trains {directory}: wait for it, or end it")
    with output_directory(directory), locked(directory, taken):
        yield
