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
from io import BufferedWriter, TextIOWrapper

from nmt.cli.out_of_memory import OUT_OF_MEMORY, is_out_of_memory
from nmt.errors import NmtError, install_command
from nmt.files.named_files import MessageFile
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
    _drop_failed_messages()
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
    except Exception as error:
        if (line := _one_line(error)) is None:
            raise
        print(f"nmt: error: {line}", file=sys.stderr)
        return USER_ERROR


def _open_closed_streams() -> None:
    """Replaces standard streams that the parent process closed by the null device.

    The null device also keeps their descriptors from files that are opened later. Standard output is opened for
    reading only: a command that writes to it fails, and other commands work.
    """
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            access = os.O_WRONLY if descriptor == 2 else os.O_RDONLY
            setattr(sys, name, open(os.open(os.devnull, access), mode))  # noqa: SIM115  open until the process ends


def _drop_failed_messages() -> None:
    """Makes standard error drop lines that cannot be written, as on a full disk: messages never end the work."""
    try:
        raw = MessageFile(sys.stderr)
    except (OSError, ValueError):
        return  # a stream without a descriptor, such as a test's
    sys.stderr = TextIOWrapper(
        BufferedWriter(raw), encoding=sys.stderr.encoding, errors="backslashreplace", line_buffering=True
    )


def _run(argv: list[str]) -> int:
    from nmt.cli import commands

    if "_ARGCOMPLETE" in os.environ:  # the shell asks how the line can go on
        commands.complete(os.environ.get("COMP_LINE", ""))
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
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard_output()  # or the interpreter would fail again at its end
        raise OSError(error.errno, error.strerror, "standard output") from None


def _discard_output() -> None:
    """Sends the rest of the output to the null device, so that the interpreter ends without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(error: Exception) -> str | None:
    """The message for a user who can mend the error; None for a bug of the program."""
    if isinstance(error, ModuleNotFoundError) and error.name in ("keras", "tensorflow"):
        return (
            f"{error.name} is not installed, and without it nmt only works with exports: name an export as --model, "
            f"or install it: {install_command()}"
        )
    if isinstance(error, ModuleNotFoundError) and error.name in ("jax", "jaxlib"):
        return f"the backend jax needs {error.name}: {install_command('jax')}"
    if is_out_of_memory(error):
        return OUT_OF_MEMORY
    if isinstance(error, OSError) and (error.filename is not None or error.errno in (*FULL, errno.EBADF)):
        advice = ": make room there, then repeat the command" if error.errno in FULL else ""
        return f"{error.filename2 or error.filename or 'standard output'}: {error.strerror}{advice}"
    return " ".join(str(error).split()) if isinstance(error, OSError | NmtError) else None
