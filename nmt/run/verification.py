"""Verification of a whole run: every file that has a sum is compared with it, every file that is loaded is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from nmt.errors import NmtError
from nmt.files.atomic_writing import write_atomically
from nmt.run.directory import ALIGNER, BEST, CHECKPOINTS, SHORT_LIST, Run
from nmt.run.errors import RunError
from nmt.run.inside import require_inside
from nmt.run.manifest import MANIFEST, discard_manifest, listed_files, only_writer, read_manifest, write_manifest
from nmt.run.pack_storage import CARD, storage_of
from nmt.run.prepared_manifest import damaged_files, read_prepared
from nmt.run.storage import Storage


class Verified(NamedTuple):
    """What a verification found."""

    files: list[str]
    """The files that were compared."""
    problems: list[str]
    """A line for each file that is damaged, missing or changed; none: all is well."""
    has_manifest: bool
    """Whether there is a manifest; version 0.1 wrote none."""


def verify(path: Path, read: Callable[[Path], object] | None = None) -> Verified:
    """Compares the files of a run or a pack with their sums, and reads them.

    Args:
        path: the directory or the pack.
        read: reads a directory that is no run, such as an aligner, and raises `NmtError` if it is damaged.
    """
    storage = storage_of(path)
    try:
        manifest = storage.manifest()
    except RunError as error:
        return Verified([MANIFEST], [str(error)], True)
    listed = list(manifest.files) if manifest else []
    present = listed_files(path) if path.is_dir() else []
    problems = [_problem(partial(_read, storage, name)) for name in listed]
    problems += [f"{path / name}: is not in {MANIFEST}" for name in present if manifest and name not in listed]
    checkpoints: list[Path] = []
    if not any(problems) and read is not None:
        problems.append(_problem(partial(read, path)))
    elif not any(problems):
        try:
            run = Run.open(path)
            checkpoints = run.checkpoints()
            problems += [_problem(check) for check in _loading(run, checkpoints)]
        except NmtError as error:
            problems.append(str(error))
    compared = [f"{CHECKPOINTS}/{file.name}" for file in checkpoints if os.path.lexists(file)]
    return Verified([*(listed or present), *compared], [line for line in problems if line], manifest is not None)


def verify_prepared(path: Path) -> Verified:
    """Compares the files of a prepared corpus with their sums.

    Args:
        path: a directory of `nmt prepare`.
    """
    try:
        manifest = read_prepared(path)
    except RunError as error:
        return Verified([MANIFEST], [str(error)], True)
    return Verified(list(manifest.files), damaged_files(path, manifest), True)


def accept(path: Path, read: Callable[[Path], object] | None = None) -> None:
    """Writes a manifest for the files of a run directory as they are, and reads them. The run keeps its identity.

    Args:
        path: the directory.
        read: as in `verify`.

    Raises:
        NmtError: a file cannot be used; the old manifest stays, as after every other error or interruption.
    """
    manifest = path / MANIFEST
    with only_writer(path):
        require_inside(path, manifest)
        content = manifest.read_bytes() if manifest.exists() else None
        try:
            write_manifest(path, *_known(path))
            if read is not None:
                read(path)
            else:
                run = Run.open(path)
                for check in _loading(run, run.checkpoints()):
                    check()
        except BaseException:
            if content is None:
                discard_manifest(path)
            else:
                write_atomically(manifest, content)
            raise


def _known(path: Path) -> tuple[str, list[str]]:
    """The run's identity and the files of its manifest; nothing if there is no manifest or a damaged one."""
    try:
        manifest = read_manifest(path)
    except RunError:
        manifest = None
    return (manifest.run, [name for name in manifest.files if name != CARD]) if manifest else ("", [])


def _read(storage: Storage, name: str) -> None:
    with storage.open(name):
        pass


def _loading(run: Run, checkpoints: Sequence[Path]) -> Iterator[Callable[[], object]]:
    """Calls that read the arrays of a run."""
    if run.storage.exists(BEST):
        yield run.weights
    if run.storage.exists(SHORT_LIST):
        yield run.load_short_list
    if run.has_aligner:
        yield partial(run.storage.arrays, ALIGNER)
    for path in checkpoints:
        yield partial(_load_checkpoint, run, path)


def _load_checkpoint(run: Run, path: Path) -> None:
    """Reads a checkpoint, unless a training has deleted it since it was listed."""
    try:
        run.load_checkpoint(path)
    except RunError:
        if os.path.lexists(path):
            raise


def _problem(check: Callable[[], object]) -> str:
    """The line of the error that a check raises; empty without an error."""
    try:
        check()
    except NmtError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return ""
