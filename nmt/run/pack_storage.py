"""A pack: one zip file with all that a run needs to translate. Its members are read in place, nothing is unpacked.

A pack may come from anybody. Its members have the names below and are not compressed, so that reading needs no more
memory than the size of the file, and no name or link of the pack ever becomes a path.
"""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import BinaryIO

from nmt.run.errors import RunError
from nmt.run.manifest import LISTED, MANIFEST, Manifest
from nmt.run.storage import DirectoryStorage, Storage

CARD = "README.md"
"""The model card."""

MEMBERS = (CARD, *LISTED, MANIFEST)
"""Names that members of a pack may have."""


def storage_of(path: Path) -> Storage:
    """The files of a run directory or of a pack.

    Raises:
        RunError: a file that is no pack.
    """
    return PackStorage(path) if path.is_file() else DirectoryStorage(path)


class PackStorage(Storage):
    """The members of a pack.

    Raises:
        RunError: the file is no pack, or has members that no pack has.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._archive() as archive:
            members = archive.infolist()
            names = [member.filename for member in members]
            if unknown := sorted({*names}.difference(MEMBERS)):
                raise RunError(f"{path}: has a member {unknown[0]!r:.80}, which no pack of nmt pack has")
            if len({*names}) < len(names) or MANIFEST not in names:
                raise self._damaged()
            if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                raise RunError(f"{path}: has compressed members, which no pack of nmt pack has")
            if sum(member.file_size for member in members) > os.path.getsize(path):
                raise self._damaged()
        self._names = frozenset(names)

    def exists(self, name: str) -> bool:
        return name in self._names

    def manifest(self) -> Manifest:
        with self.peek(MANIFEST) as file:
            found = Manifest.parse(file.read(), self.path / MANIFEST, self.advice())
        if unlisted := sorted(self._names.difference(found.files, [MANIFEST])):
            raise RunError(f"{self.path / unlisted[0]}: is not in {MANIFEST}: {self.advice()}")
        return found

    def peek(self, name: str) -> BinaryIO:
        if name not in self._names:
            raise FileNotFoundError(2, "No such file in the pack", str(self.path / name))
        with self._archive() as archive:
            try:
                return io.BytesIO(archive.read(name))
            except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError, ValueError):
                raise RunError(f"{self.path / name}: damaged: {self.advice()}") from None

    def advice(self) -> str:
        return "get the pack again, or make it again with nmt pack"

    def _archive(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except OSError as error:
            raise RunError(f"{self.path}: {error.strerror}") from None
        except Exception:  # the parser of zip files raises errors of several kinds
            raise self._damaged() from None

    def _damaged(self) -> RunError:
        return RunError(f"{self.path}: not a run directory and not a pack of nmt pack, or a damaged pack")
