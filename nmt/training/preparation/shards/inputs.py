"""Digests of the files that a corpus is made from. A file that has not changed since is not read again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nmt.config import PairsConfig
from nmt.errors import NmtError
from nmt.files.reading import digest_of, file_state
from nmt.progress import LineProgress
from nmt.text.lines import unreadable
from nmt.training.preparation.shards.work_files import load_values, save_values

_FILES = ("source", "target", "tsv", "document", "parquet")


class Inputs:
    """The digests of input files, kept in a file with the size and the time of change of each.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            known = load_values(path)
            self._known = {str(name): tuple(map(str, values)) for name, values in known.items()}
        except (OSError, NmtError):  # the files are read again
            self._known = {}

    def digest(self, path: str) -> str:
        """SHA-256 of a file.

        Raises:
            CorpusError: the file cannot be read.
        """
        try:
            size, changed = file_state(path)
            known = self._known.get(path)
            if changed and known is not None and known[:2] == (str(size), changed):
                return known[2]
            found = digest_of(path)
        except OSError as error:
            raise unreadable(path, error) from None
        self._known[path] = str(size), changed, found
        return found

    def read(self, units: Sequence[PairsConfig]) -> None:
        """Reads the files of all units, and shows how far it is."""
        files = [getattr(unit, name) for unit in units for name in _FILES if getattr(unit, name)]
        for path in LineProgress(len(files), task="computing digests", unit="files").over(files):
            self.digest(path)

    def save(self) -> None:
        """Writes the file."""
        save_values(self._path, self._known)
