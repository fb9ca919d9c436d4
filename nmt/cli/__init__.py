"""The `nmt` command: train, translate, score, align, evaluate, tune, explain, compare, sweep, curves,
embeddings, distil, back-translate, hold-out, clean.

What a command needs is imported when it runs, so that `nmt --help` answers at once.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from io import TextIOWrapper

from nmt.errors import NmtError
from nmt.progress import remove_status_lines

USER_ERROR = 2
INTERRUPTED = 128 + 2
BROKEN_PIPE = 128 + 13

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What is wrong where nothing more can be written."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line (default: the process's own) and returns its exit code.

    0: done; 2: an error that the user can mend, one line on standard error; 130: interrupted, by Ctrl-C or a
    termination signal; 141: nobody reads the output any more. Whatever else goes wrong is a bug and keeps its
    traceback.
    """
    if threading.current_thread() is threading.main_thread():  # what was half-written goes, as after Ctrl-C
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    _open_what_is_closed()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what fails raises in Python
    logging.getLogger("tensorflow").setLevel(logging.ERROR)  # no advice on how we compile
    warnings.formatwarning = lambda message, *_, **__: f"nmt: {message}\n"  # no path and no line of our code
    try:
        try:
            return _run(sys.argv[1:] if argv is None else list(argv))
        finally:
            remove_status_lines()
            _flush_output()
    except BrokenPipeError:
        _discard_output()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        print("nmt: interrupted", file=sys.stderr)
        return INTERRUPTED
    except (OSError, NmtError) as error:
        print(f"nmt: error: {_one_line(error)}", file=sys.stderr)
        return USER_ERROR


def _open_what_is_closed() -> None:
    """Standard streams that whoever started the process has closed are empty and keep nothing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  for as long as the process lives


def _run(argv: list[str]) -> int:
    from nmt.cli import commands

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    _require_text(argv)
    return commands.run(argv)


def _require_text(argv: Sequence[str]) -> None:
    """Refuses words that are not UTF-8, as a terminal of another encoding sends them; files may have such names."""
    for place, word in enumerate(argv, start=1):
        try:
            word.encode()
        except UnicodeEncodeError:
            if not os.path.lexists(word):
                raise NmtError(f"argument {place} is not valid UTF-8, and no file is named so") from None


def _flush_output() -> None:
    """Also after an error: what standard output could not take before, it cannot take now, and says so."""
    try:
        sys.stdout.flush()
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def _discard_output() -> None:
    """Lets the interpreter flush what is left without a word when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and (error.filename is not None or error.errno in FULL):
        mend = ": make room there, then repeat the command" if error.errno in FULL else ""
        return f"{error.filename2 or error.filename or 'standard output'}: {error.strerror}{mend}"
    return " ".join(str(error).split())
