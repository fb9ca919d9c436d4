"""Errors of run directories."""

from __future__ import annotations

from pathlib import Path

from nmt.config import RunConfig
from nmt.errors import NmtError
from nmt.files.paths import similar_path

PACK = ".nmt"
"""The end of a pack's name."""


class RunError(NmtError):
    """A run directory is missing, incomplete or damaged, or it belongs to another configuration."""


def no_such_run(path: str | Path) -> RunError:
    """The error about a path where there is nothing; it names a run or a pack of this or a similar name."""
    path, usual = Path(path), Path(RunConfig().directory)
    if path.suffix == PACK:
        pack = similar_path(path, lambda other: other.suffix == PACK)
        return RunError(f"{path}: no such pack; {f'did you mean {pack}?' if pack else 'nmt pack makes one'}")
    near = usual / path if _is_run(usual / path) else similar_path(path, _is_run)
    hint = f"did you mean {near}?" if near else "nmt train makes one, and nmt runs lists all"
    return RunError(f"{path}: no such run directory; {hint}")


def _is_run(path: Path) -> bool:
    return (path / "config.json").exists()
