"""Errors of exports."""

from nmt.errors import NmtError


class ExportError(NmtError):
    """A run that cannot be exported in the format or to the place that was named."""
