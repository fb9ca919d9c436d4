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


def same_path(saved: str, named: str) -> bool:
    """Whether a path that a run has saved may lead to the file or directory that is named now.

    If the saved one leads to nothing, it is enough that one of them ends with the other: the working directory has
    changed, or the folder that relative paths begin at. If it is absolute, the named one must lead to nothing too.
    """
    if saved == named or not (saved and named):
        return saved == named
    if os.path.realpath(saved) == os.path.realpath(named):
        return True
    if os.path.exists(saved) or (os.path.isabs(saved) and os.path.exists(named)):
        return False
    short, long = sorted((Path(os.path.normpath(path)).parts for path in (saved, named)), key=len)
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
