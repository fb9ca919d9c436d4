"""Errors of run directories."""

from __future__ import annotations

from nmt.errors import NmtError


class RunError(NmtError):
    """A run directory that is missing, incomplete, damaged, or that belongs to another configuration."""
