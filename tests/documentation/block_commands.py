"""The commands of nmt in a block of shell, taken from its text without running it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from nmt.cli.commands import COMMANDS, parser_of
from nmt.errors import NmtError

ENDS = {"|", "||", "&", "&&", ";", "(", ")"}
"""The signs of the shell that end a command."""


def nmt_commands(text: str) -> Iterator[list[str]]:
    """The words behind `nmt` of each call, without redirections."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        yield from (command[1:] for command in _parted(words) if command[0].rpartition("/")[2] == "nmt")


def _parted(words: Iterator[str]) -> Iterator[list[str]]:
    """The simple commands of a line."""
    command: list[str] = []
    for word in words:
        if word in ENDS:
            yield from [command] if command else []
            command = []
        elif word in ("<", ">", ">>"):
            next(words)  # the file of a redirection
        else:
            command.append(word)
    yield from [command] if command else []


def faults(text: str, checkout: Path) -> Iterator[str]:
    """A line for each command that nmt would refuse, and for each file that the checkout lacks."""
    for name in re.findall(r"(?<![\w/.])(?:data|docs|scripts|tests)/[\w./-]*\w", text):
        if not (checkout / name).exists():
            yield f"{name} is not in the checkout"
    for command, *words in nmt_commands(text):
        if command not in COMMANDS:
            yield f"nmt {command} is no command"
            continue
        try:
            parser_of(command).parse_args(words)
        except NmtError as error:
            yield f"nmt {command}: {error}"
        except SystemExit:  # --help and --version have printed
            pass
