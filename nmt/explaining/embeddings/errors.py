"""The error of this package."""

from nmt.errors import NmtError


class EmbeddingError(NmtError):
    """A word without a vector, or vectors that cannot be read, written or compared."""
