"""Errors of run directories."""

from __future__ import annotations

from pathlib import Path

from nmt.config import RunConfig
from nmt.errors import NmtError


class RunError(NmtError):
    """A run directory is missing, incomplete or damaged, or it belongs to another configuration."""


def no_such_run(path: str | Path) -> RunError:
    """The error about a path where there is nothing; it names the run of this name in the usual directory."""
    near = Path(RunConfig().directory) / path
    hint = f"did you mean {near}?" if (near / "config.json").exists() else "nmt train makes one"
    return RunError(f"{path}: no such run directory; {hint}")
