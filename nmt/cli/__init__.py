"""The `nmt` command. `nmt.cli.commands` lists its commands; each has a module here.

A command imports its libraries when it runs, so that `nmt --help` answers at once.
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
"""Error numbers of a full disk, quota or file size."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line (default: the process's own) and returns its exit code.

    0: success. 2: a user's mistake, with one line on standard error. 130: interrupted by Ctrl-C or a termination
    signal. 141: the reader of the output has gone. Any other error is a bug and keeps its traceback.
    """
    if threading.current_thread() is threading.main_thread():  # half-written files go, as after Ctrl-C
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    _open_closed_streams()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # errors are raised in Python anyway
    logging.getLogger("tensorflow").setLevel(logging.ERROR)  # no advice on compiling
    warnings.formatwarning = lambda message, *_, **__: f"nmt: {message}\n"  # without path and line of code
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


def _open_closed_streams() -> None:
    """Replaces standard streams that the parent process closed by the null device."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  open until the process ends


def _run(argv: list[str]) -> int:
    from nmt.cli import commands

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    _require_text(argv)
    return commands.run(argv)


def _require_text(argv: Sequence[str]) -> None:
    """Refuses words that are not UTF-8, which a terminal of another encoding sends. Files may have such names."""
    for place, word in enumerate(argv, start=1):
        try:
            word.encode()
        except UnicodeEncodeError:
            if not os.path.lexists(word):
                raise NmtError(f"argument {place} is not valid UTF-8, and no file has this name") from None


def _flush_output() -> None:
    """Flushes standard output, also after an error; the error of a failed flush names standard output."""
    try:
        sys.stdout.flush()
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def _discard_output() -> None:
    """Sends the rest of the output to the null device, so that the interpreter ends without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and (error.filename is not None or error.errno in FULL):
        advice = ": make room there, then repeat the command" if error.errno in FULL else ""
        return f"{error.filename2 or error.filename or 'standard output'}: {error.strerror}{advice}"
    return " ".join(str(error).split())
