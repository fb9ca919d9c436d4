"""Errors of reading text."""

from __future__ import annotations

from nmt.errors import NmtError


class CorpusError(NmtError):
    """Text that cannot be read; the message names file and line, and the fix."""


class VocabularyError(NmtError):
    """A vocabulary that cannot be trained or read; the message has the reason and the fix."""
