"""Paths of a run directory that lead out of it, as a directory of somebody else may have them."""

from __future__ import annotations

import os
from pathlib import Path

from nmt.run.errors import RunError


def require_inside(directory: Path, path: Path) -> None:
    """Refuses a link that leads out of a directory, and a pipe or device, which could block or never end.

    Raises:
        RunError: names the path.
    """
    top, real = os.path.realpath(directory), os.path.realpath(path)
    if real != top and not real.startswith(os.path.join(top, "")):
        raise RunError(f"{path}: leads out of {directory}: copy the file itself into the directory")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise RunError(f"{path}: is a pipe or a device, expected a file")
