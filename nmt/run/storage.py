"""The files that a run is loaded from, in a directory or in a pack: reading compares them with the manifest."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import BinaryIO

import numpy as np

from nmt.files.digests import digest
from nmt.run.arrays import read_arrays
from nmt.run.errors import RunError
from nmt.run.inside import require_inside
from nmt.run.manifest import MANIFEST, Manifest, read_manifest

_ATTEMPTS = 3
"""Readings of a file that a training may be replacing, together with its sum in the manifest."""


class Storage(ABC):
    """The files of a run, by name.

    Args:
        path: the run directory, or the pack.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Whether there is a file of this name."""

    @abstractmethod
    def manifest(self) -> Manifest | None:
        """The manifest as it is now; None for a run without one.

        Raises:
            RunError: it is damaged.
        """

    @abstractmethod
    def peek(self, name: str) -> BinaryIO:
        """Opens a file without a look at its sum.

        Raises:
            RunError: the name belongs to something else than a file inside of the run.
            OSError: the file cannot be opened.
        """

    @abstractmethod
    def advice(self) -> str:
        """The rest of the message on a file that differs from its sum."""

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Opens a file after its content has been compared with the manifest.

        Raises:
            RunError: the content differs, or see `peek`.
            OSError: the file cannot be opened.
        """
        for _ in range(_ATTEMPTS):
            with self.peek(name) as file:
                found = digest(file)
                manifest = self.manifest()  # read after the file: its sums may be newer, which the next attempt mends
                if manifest is None or manifest.accepts(name, found):
                    file.seek(0)
                    yield file
                    return
        raise RunError(f"{self.path / name}: damaged or changed, because it differs from {MANIFEST}: {self.advice()}")

    def read(self, name: str, limit: int) -> bytes:
        """The content of a small file, as `open`.

        Raises:
            RunError: the file has more bytes than `limit`, or see `open`.
        """
        with self.peek(name) as file:
            if file.seek(0, os.SEEK_END) > limit:
                raise RunError(f"{self.path / name}: has more than {limit:,} bytes, so it is no file of a run")
        with self.open(name) as file:
            return file.read(limit)

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of an .npz file.

        Raises:
            RunError: the file is missing, unreadable or damaged.
        """
        path = self.path / name
        try:
            with self.open(name) as file:
                return read_arrays(file, path)
        except FileNotFoundError:
            raise RunError(f"{path}: no such file") from None
        except OSError as error:
            raise RunError(f"{path}: {error.strerror}") from None

    def require_folder(self, folder: str) -> None:
        """Compares the files of a folder with the manifest, each of which is read once, and refuses links out of it.

        Raises:
            RunError: a file is missing or damaged, or leads out of the run.
        """
        self.require_inside(folder)
        manifest = self.manifest()
        for name in manifest.files if manifest else ():
            if name.startswith(f"{folder}/"):
                try:
                    with self.open(name):
                        pass
                except OSError as error:
                    raise RunError(f"{self.path / name}: {error.strerror}") from None

    def require_inside(self, folder: str = "") -> None:
        """Refuses links in a folder, or anywhere in the run, that lead out of the run, and pipes and devices.

        Raises:
            RunError: names the path.
        """
        top = self.path / folder
        for path in [top, *top.rglob("*")] if top.is_dir() else ():
            require_inside(self.path, path)


class DirectoryStorage(Storage):
    """The files of a run directory. Links are followed inside of it."""

    def exists(self, name: str) -> bool:
        return os.path.lexists(self.path / name)

    def manifest(self) -> Manifest | None:
        return read_manifest(self.path)

    def peek(self, name: str) -> BinaryIO:
        require_inside(self.path, self.path / name)
        return open(self.path / name, "rb")

    def advice(self) -> str:
        return f"restore it, or if the change is yours, accept it with nmt verify --accept {quote(str(self.path))}"
