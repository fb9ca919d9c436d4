"""Errors of backends."""

from __future__ import annotations

from nmt.errors import NmtError


class BackendError(NmtError):
    """The current Keras backend, or its set-up, cannot do this."""
