"""Runs the blocks of a page as its reader does: in one directory, in order, with `nmt` and `python` on the path.

The page has a process of its own. Each `nmt` and `python` of its shell blocks is a fork of that process, which has
TensorFlow imported already: a command begins at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from commands import FORKS, REPOSITORY, execute
from page_blocks import Block

CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect({address!r})
    words = [os.path.basename(sys.argv[0]), *sys.argv[1:]]
    socket.send_fds(server, [json.dumps([words, os.getcwd(), dict(os.environ)]).encode()], [0, 1, 2])
    code = server.recv(1)
sys.exit(code[0] if code else 1)
"""
"""The programs `nmt` and `python` of a page: they hand their words, streams and surroundings to the page's process."""


def run_blocks(blocks: Sequence[Block], directory: Path) -> None:
    """Runs blocks in a directory.

    Raises:
        AssertionError: a block failed; the message has its place and its output.
    """
    log = directory / ".log"
    process = FORKS.Process(target=_run_page, args=(blocks, directory, log))
    process.start()
    process.join()
    assert process.exitcode == 0, log.read_text(encoding="utf-8", errors="replace")[-6000:]


def _run_page(blocks: Sequence[Block], directory: Path, log: Path) -> None:
    """The page's process. It ends all processes of its group with itself, such as servers that blocks began."""
    os.setsid()
    os.chdir(directory)
    sys.stdout.flush()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in (1, 2):
        os.dup2(output, number)
    _install(directory)
    with _listening(str(directory / ".socket")) as server:  # before the fork, so that the first client finds it
        if not os.fork():
            _serve(server)
    code = 1
    with contextlib.suppress(BaseException):
        code = _run_in_order(blocks, directory)
    sys.stdout.flush()
    with contextlib.suppress(ProcessLookupError):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
    os._exit(code)


def _install(directory: Path) -> None:
    """The programs of a page's own virtual environment."""
    programs = directory / ".venv" / "bin"
    programs.mkdir(parents=True)
    client = CLIENT.format(python=sys.executable, address=str(directory / ".socket"))
    for name in ("nmt", "python", "python3"):
        (programs / name).write_text(client, encoding="utf-8")
        (programs / name).chmod(0o755)
    (programs / "activate").write_text(f"PATH={programs}:$PATH\n", encoding="utf-8")
    os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
    os.environ["PYTHONPATH"] = str(REPOSITORY)


def _run_in_order(blocks: Sequence[Block], directory: Path) -> int:
    """Runs the blocks up to the first that fails, and returns the code of this process."""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        print(f"== {block.place}", flush=True)
        shell = block.hidden + ("\n" + block.text if block.language == "bash" else "")
        if shell.strip() and _run_shell(shell, block.added):
            return 1
        if block.language == "python":
            try:
                # Empty lines ahead: a traceback has the lines of the page.
                exec(compile("\n" * block.line + block.text, str(REPOSITORY / block.page), "exec"), names)
            except BaseException:
                traceback.print_exc()
                return 1
            sys.stdout.flush()
    return 0


def _run_shell(text: str, added: str) -> int:
    command = ["bash", "-euo", "pipefail", "-c", text]
    return subprocess.run(command, stdin=subprocess.DEVNULL, env=os.environ | {"NMT_ADDED": added}).returncode


def _listening(address: str) -> socket.socket:
    """A socket at which clients can connect from now on."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(address)
    server.listen()
    return server


def _serve(server: socket.socket) -> None:
    """Answers each client in a fork of its own; never returns."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    while True:
        client, _ = server.accept()
        if not os.fork():
            server.close()
            _answer(client)
        client.close()


def _answer(client: socket.socket) -> None:
    """Runs the program that a client asks for, and ends with it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, streams, _, _ = socket.recv_fds(client, 1 << 18, 3)
    words, directory, surroundings = json.loads(message)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    threading.Thread(target=_end_with, args=(client,), daemon=True).start()
    code = 1
    try:
        code = _program(words, Path(directory), surroundings)
    except BaseException:
        traceback.print_exc()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        client.send(bytes([code]))
    os._exit(code)


def _end_with(client: socket.socket) -> None:
    """Ends this process when the client has ended, as after a `kill` of the shell."""
    client.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)


def _program(words: list[str], directory: Path, surroundings: Mapping[str, str]) -> int:
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(surroundings)
    program, *arguments = words
    sys.stdin, sys.stdout, sys.stderr = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8"), open(2, "w")  # noqa: SIM115
    try:
        return _run_program(program, arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def _run_program(program: str, arguments: list[str]) -> int:
    if program == "nmt":
        from nmt.cli import main

        command, *added = os.environ.get("NMT_ADDED", "").split() or [""]
        return main([*arguments, *(added if arguments[:1] == [command] else [])])
    if arguments[0] in ("-", "-c"):
        exec(arguments[1] if arguments[0] == "-c" else sys.stdin.read(), {"__name__": "__main__"})
    else:
        execute(arguments)
    return 0
