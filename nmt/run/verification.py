"""Verification of a whole run: every file that has a sum is compared with it, every file that is loaded is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from nmt.errors import NmtError
from nmt.files.atomic_writing import write_atomically
from nmt.run.directory import BEST, CHECKPOINTS, SHORT_LIST, Run
from nmt.run.errors import RunError
from nmt.run.manifest import MANIFEST, discard_manifest, listed_files, read_manifest, write_manifest
from nmt.run.pack_storage import storage_of
from nmt.run.storage import Storage


class Verified(NamedTuple):
    """What a verification found."""

    files: list[str]
    """The files that were compared."""
    problems: list[str]
    """A line for each file that is damaged, missing or changed; none: all is well."""
    has_manifest: bool
    """Whether there is a manifest; version 0.1 wrote none."""


def verify(path: Path) -> Verified:
    """Compares the files of a run or a pack with their sums, and reads them."""
    storage = storage_of(path)
    try:
        manifest = storage.manifest()
    except RunError as error:
        return Verified([MANIFEST], [str(error)], True)
    listed = list(manifest.files) if manifest else []
    present = listed_files(path) if path.is_dir() else []
    problems = [_problem(partial(_read, storage, name)) for name in listed]
    problems += [f"{path / name}: is not in {MANIFEST}" for name in present if manifest and name not in listed]
    checkpoints = []
    if not any(problems):
        try:
            run = Run.open(path)
            checkpoints = [f"{CHECKPOINTS}/{file.name}" for file in run.checkpoints()]
            problems += [_problem(check) for check in _loading(run)]
        except NmtError as error:
            problems.append(str(error))
    return Verified([*(listed or present), *checkpoints], [line for line in problems if line], manifest is not None)


def accept(path: Path) -> None:
    """Writes a manifest for the files of a run directory as they are, after reading them.

    Raises:
        NmtError: a file cannot be used; the old manifest stays.
    """
    try:
        old = read_manifest(path)
    except RunError:
        old = None
    content = (path / MANIFEST).read_bytes() if (path / MANIFEST).exists() else None
    discard_manifest(path)
    try:
        run = Run.open(path)
        for check in _loading(run):
            check()
    except NmtError:
        if content is not None:
            write_atomically(path / MANIFEST, content)
        raise
    write_manifest(path, old.run if old else "")


def _read(storage: Storage, name: str) -> None:
    with storage.open(name):
        pass


def _loading(run: Run) -> Iterator[Callable[[], object]]:
    """Calls that read the arrays of a run."""
    if run.storage.exists(BEST):
        yield run.weights
    if run.storage.exists(SHORT_LIST):
        yield run.load_short_list
    for path in run.checkpoints():
        yield partial(run.load_checkpoint, path)


def _problem(check: Callable[[], object]) -> str:
    """The line of the error that a check raises; empty without an error."""
    try:
        check()
    except NmtError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return ""
