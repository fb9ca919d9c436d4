"""Errors of run directories."""

from __future__ import annotations

from nmt.errors import NmtError


class RunError(NmtError):
    """A run directory is missing, incomplete or damaged, or it belongs to another configuration."""
