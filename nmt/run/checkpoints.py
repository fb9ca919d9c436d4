"""Checkpoints of a run: files named by their training step, with sums of their own; the mean of several."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nmt.files.atomic_writing import write_atomically
from nmt.files.digests import digest
from nmt.network.weights import MODEL, named_arrays
from nmt.progress import counted
from nmt.run.arrays import packed_arrays, read_arrays
from nmt.run.errors import RunError
from nmt.run.inside import require_inside
from nmt.run.weight_checks import require_numbers

_LENGTH = 2
"""Bytes at the end of a zip file without a comment: the length of its comment."""
_END, _REST = b"PK\5\6", 18
"""The last record of a zip file without a comment: how it begins, and the number of bytes behind that."""


def list_checkpoints(directory: Path) -> list[Path]:
    """Checkpoint files in `directory`, the oldest first."""
    return sorted(directory.glob("[0-9]*.npz"))


def save_checkpoint(directory: Path, step: int, arrays: Mapping[str, np.ndarray], keep: int, run: str = "") -> None:
    """Saves a checkpoint and deletes all but the newest `keep`.

    The comment of the zip file has the sum of the file without a comment, and the identity of the run.
    """
    require_inside(directory.parent, directory)
    content = packed_arrays(arrays)
    comment = json.dumps({"run": run, "sha256": hashlib.sha256(content).hexdigest()}).encode()
    whole = content[:-_LENGTH] + len(comment).to_bytes(_LENGTH, "little") + comment
    write_atomically(directory / f"{step:09d}.npz", whole)
    for path in list_checkpoints(directory)[:-keep]:
        path.unlink()


def load_checkpoint(path: Path, run: str = "") -> dict[str, np.ndarray]:
    """Reads a checkpoint and compares it with its sums. Version 0.1 wrote none.

    Args:
        run: identity of the run that the checkpoint must belong to; empty: unknown.

    Raises:
        RunError: the file is missing, unreadable, damaged or of another run, or leads out of the run directory.
    """
    require_inside(path.parents[1], path)
    try:
        with open(path, "rb") as file:
            arrays = read_arrays(file, path)
            _require_sums(file, path, run)
            return arrays
    except FileNotFoundError:
        raise RunError(f"{path}: no such file") from None
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None


def _require_sums(file: BinaryIO, path: Path, run: str) -> None:
    """Compares a checkpoint with the sums in its comment."""
    with zipfile.ZipFile(file) as archive:
        comment = archive.comment
    if not comment:
        file.seek(-len(_END) - _REST, os.SEEK_END)
        if run or file.read(len(_END)) != _END:  # a run with an identity saves no checkpoint without sums
            raise RunError(f"{path}: damaged, its sums are missing")
        return
    try:
        sums = json.loads(comment)
        saved_run, expected = sums["run"], sums["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RunError(f"{path}: damaged, its sums cannot be read") from None
    if expected != _digest_without_comment(file, len(comment)):
        raise RunError(f"{path}: damaged, its content differs from its sum")
    if run and saved_run and saved_run != run:
        raise RunError(f"{path}: belongs to another run")


def _digest_without_comment(file: BinaryIO, length: int) -> str:
    """The sum of a zip file as it was before it got a comment of this length."""
    left = file.seek(0, os.SEEK_END) - length - _LENGTH
    file.seek(0)
    return digest(file, left, bytes(_LENGTH))


def average_checkpoints(
    directory: Path, count: int, names: Iterable[str] | None = None, run: str = ""
) -> dict[str, np.ndarray]:
    """The mean of weights over the newest `count` checkpoints of the run with this identity.

    Args:
        names: of the weights; None: all weights of the model in the newest checkpoint.

    Raises:
        RunError: there are fewer checkpoints, or a checkpoint is damaged or lacks one of the names.
    """
    newest = list_checkpoints(directory)[-count:]
    if len(newest) < count:
        raise RunError(
            f"{directory.parent} keeps {counted(len(newest), 'checkpoint')}, {count} are needed: "
            f"train with --training.checkpoints.keep {count} or more"
        )
    loaded = [named_arrays(load_checkpoint(path, run)) for path in newest]
    names = [name for name in loaded[-1] if name.startswith(f"{MODEL}/")] if names is None else list(names)
    if not names:
        raise RunError(f"{newest[-1]}: has no weights of a model")
    for path, arrays in zip(newest, loaded, strict=True):
        if missing := [name for name in names if name not in arrays]:
            raise RunError(f"{path}: has no array {missing[0]}, so it belongs to another model than config.json")
        require_numbers({name: arrays[name] for name in names}, path)
    return {name: np.mean([arrays[name] for arrays in loaded], axis=0) for name in names}
