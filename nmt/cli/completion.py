"""`nmt completion`: the code that makes a shell complete commands, flags and their values."""

from __future__ import annotations

from argparse import Namespace

from nmt.cli.parser import Parser

DESCRIPTION = (
    "Prints code for a shell. When the shell has run it, the Tab key completes commands, flags, choices and file "
    "names of nmt. Put the line of the example into ~/.bashrc or ~/.zshrc to have it in every shell. fish: nmt "
    "completion fish | source."
)
EXAMPLE = 'eval "$(nmt completion bash)"'


def add_flags(parser: Parser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell: bash, zsh or fish", metavar="SHELL")


def run(arguments: Namespace) -> None:
    """Prints what argcomplete generates."""
    import argcomplete

    print(argcomplete.shellcode(["nmt"], shell=arguments.shell))
