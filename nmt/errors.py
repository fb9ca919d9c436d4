"""The base class of all errors that a user can cause and fix, and the command that installs missing packages."""

import sys


class NmtError(ValueError):
    """An error that the user can fix. Its message is one line: what is wrong, where, and what to do."""


def install_command(extra: str = "") -> str:
    """The command that installs the packages of an extra, for messages about a missing package.

    Args:
        extra: a name of `options.extras_require` in setup.cfg; empty: the packages of every installation.
    """
    place = f"'.[{extra}]'" if extra else "."
    return f"in the folder of nmt, {sys.executable} -m pip install --constraint constraints.txt -e {place}"
