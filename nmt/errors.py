"""The base of all errors that a user can cause and mend."""


class NmtError(ValueError):
    """Something to be mended by the user; the message is one line that says what, where, and how to mend it."""
