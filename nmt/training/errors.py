"""Errors of training."""

from __future__ import annotations

from nmt.errors import NmtError


class TrainingError(NmtError):
    """A training that cannot continue; the message says what to do."""
