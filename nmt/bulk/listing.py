"""Files of any file system that Beam knows. Beam reads [, * and ? in every name as a pattern; here a name is a name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from apache_beam.io.filesystem import FileMetadata
from apache_beam.io.filesystems import FileSystems

from nmt.errors import NmtError


def files_in(folder: str, suffix: str = "") -> list[FileMetadata]:
    """The files of a directory whose names have an ending; no files of directories in it, and none if it is missing."""
    system, start = FileSystems.get_filesystem(folder), folder.rstrip("/") + "/"
    files = system._list(folder if system.has_dirs() else start)
    return [file for file in files if "/" not in file.path.removeprefix(start) and file.path.endswith(suffix)]


def matching_files(pattern: str) -> list[FileMetadata]:
    """The files that a pattern such as `corpus/*.gz` names, sorted; a name that exists stands for itself.

    Raises:
        NmtError: the name is of a directory.
    """
    if os.path.isdir(pattern):
        raise NmtError(f"{pattern}: is a directory, expected a file: name its files, such as '{pattern}/*'")
    if FileSystems.exists(pattern):
        return [FileSystems.get_filesystem(pattern).metadata(pattern)]
    (found,) = FileSystems.match([pattern])
    return sorted(found.metadata_list, key=lambda file: file.path)


def delete_files(files: Iterable[FileMetadata]) -> None:
    """Deletes files."""
    for file in files:
        if "://" in file.path:
            FileSystems.delete([re.sub(r"[*?[]", "?", file.path)])  # ? is the pattern of every character
        else:
            os.remove(file.path)
