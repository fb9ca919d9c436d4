"""Paths in configuration files: relative ones begin at the folder of the file that names them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nmt.config.fields import settings_of
from nmt.config.run import RunConfig
from nmt.files.reading import is_remote


def from_file(name: str, file: str | Path) -> str:
    """The path of a file or directory that a configuration file names.

    It begins at the configuration file's folder. If nothing is there, it begins at the working directory, where all
    paths of older configuration files begin.

    Args:
        name: as the configuration file has it; "" and - (standard input) stay.
        file: the configuration file. A pipe has no folder.
    """
    if name in ("", "-") or os.path.isabs(name) or is_remote(name) or not os.path.isfile(file):
        return name
    beside = os.path.normpath(os.path.join(os.path.dirname(file), name))
    return name if os.path.exists(name) and not os.path.exists(beside) else beside


def path_settings() -> set[str]:
    """Dotted names of the settings that name a file or directory which is read."""
    return {setting.name for setting in settings_of(RunConfig) if setting.path}


def same_path(one: str, other: str) -> bool:
    """Whether two paths lead to the same file or directory.

    If neither leads to anything any more, it is enough that one ends with the other, as after a change of the working
    directory or of the folder that relative paths begin at.
    """
    if one == other or not (one and other):
        return one == other
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    if os.path.exists(one) or os.path.exists(other):
        return False
    short, long = sorted((Path(os.path.normpath(path)).parts for path in (one, other)), key=len)
    return long[-len(short) :] == short


def fields_from_file(fields: dict[str, Any], file: str | Path) -> dict[str, Any]:
    """Nested fields of a run, with the paths that are read as `from_file` gives them.

    The directory that runs are written to (`directory`) begins at the working directory: it stays.
    """
    paths = path_settings()

    def located(values: dict[str, Any], prefix: str) -> dict[str, Any]:
        found = {}
        for name, value in values.items():
            if isinstance(value, dict):
                value = located(value, f"{prefix}{name}.")
            elif f"{prefix}{name}" in paths and isinstance(value, str):
                value = from_file(value, file)
            found[name] = value
        return found

    return located(fields, "")
