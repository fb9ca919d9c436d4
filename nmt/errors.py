"""The base class of all errors that a user can cause and fix."""


class NmtError(ValueError):
    """An error that the user can fix. Its message is one line: what is wrong, where, and what to do."""
