"""Errors of run directories."""

from __future__ import annotations

import difflib
from pathlib import Path

from nmt.config import RunConfig
from nmt.errors import NmtError


class RunError(NmtError):
    """A run directory is missing, incomplete or damaged, or it belongs to another configuration."""


def no_such_run(path: str | Path) -> RunError:
    """The error about a path where there is nothing; it names a run of this or a similar name."""
    path, usual = Path(path), Path(RunConfig().directory)
    near = usual / path if _is_run(usual / path) else _similar_run(path)
    hint = f"did you mean {near}?" if near else "nmt train makes one"
    return RunError(f"{path}: no such run directory; {hint}")


def _is_run(path: Path) -> bool:
    return (path / "config.json").exists()


def _similar_run(path: Path) -> Path | None:
    """The run beside a path whose name is most similar, if one is."""
    names = [run.name for run in path.parent.iterdir() if _is_run(run)] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=1)
    return path.parent / near[0] if near else None
