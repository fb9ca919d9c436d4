"""The commands of `nmt`. Each has a module of its own name here, with these three names:

DESCRIPTION            what its help begins with
add_flags(parser)      declares its flags
run(arguments)         does the work; returns an exit code, or None for success
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any

from nmt.cli.parser import Parser
from nmt.errors import NmtError
from nmt.version import __version__

COMMANDS = {
    "train": "train a model into a run directory",
    "translate": "translate text line by line",
    "score": "log-probability of given translations",
    "align": "export word alignments as numbers and plots",
    "evaluate": "measure BLEU, chrF and the alignment error rate",
    "tune": "find the length penalty that suits a model",
    "explain": "find the pairs that are out of the ordinary, and say why",
    "compare": "train and measure variants of a configuration side by side",
    "sweep": "search for hyper-parameters within a budget",
    "curves": "draw the learning curves of several runs",
    "embeddings": "look into the vectors of words: neighbours, analogies",
    "distil": "pairs for training from a model's own translations",
    "back-translate": "pairs for training from text of the target language",
    "hold-out": "keep pairs aside to test on",
    "clean": "leave out the bad pairs of a parallel corpus",
}
"""Each command with its line in `nmt --help`."""


def run(argv: Sequence[str]) -> int:
    """Runs the command of a command line and returns its exit code.

    Raises:
        NmtError: a missing, unknown or wrong argument, or an error of the command.
    """
    chosen = argv[0] if argv and argv[0] in COMMANDS else ""
    parser, commands = _parsers(chosen)
    arguments, rest = parser.parse_known_args(argv)
    if rest:
        commands[chosen].error(f"unrecognized arguments: {' '.join(rest)}")
    _require_names(commands[chosen], arguments)
    return module(chosen).run(arguments) or 0


def module(command: str) -> Any:
    """The module of a command."""
    return importlib.import_module(f"nmt.cli.{command.replace('-', '_')}")


def _parsers(chosen: str) -> tuple[Parser, dict[str, Parser]]:
    """The parser of whole command lines, and those of the commands. Only the chosen command is imported."""
    parser = Parser(prog="nmt", description="Neural machine translation with attention.")
    parser.add_argument("--version", action="version", version=f"nmt {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if name == chosen:
            command.description = module(name).DESCRIPTION
            command.set_defaults(parser=command)
            module(name).add_flags(command)
    return parser, commands.choices


def _require_names(command: Parser, arguments: argparse.Namespace) -> None:
    """Refuses an empty name of a file or directory, such as an unset variable of the shell leaves."""
    for action in command._actions:
        value = getattr(arguments, action.dest, None)
        if action.metavar in ("FILE", "DIR") and "" in (value if isinstance(value, list) else [value]):
            expected = {"FILE": "a file", "DIR": "a directory"}[str(action.metavar)]
            raise NmtError(f"{action.option_strings[0]} is empty: expected the name of {expected}")
