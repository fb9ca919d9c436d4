"""The commands of `nmt`. The module of a command has the command's name and defines:

* `DESCRIPTION`: the first paragraph of its help,
* `EXAMPLE`: a command line that can be pasted, the last paragraph of its help,
* `add_flags(parser)`: declares its flags,
* `run(arguments)`: does the work; returns an exit code, or None for success.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin

from nmt.cli.parser import Parser
from nmt.config.hints import did_you_mean
from nmt.config.parser import EXAMPLE_HEADING
from nmt.errors import NmtError

COMMANDS = {
    "train": "train a model into a run directory",
    "translate": "translate text line by line",
    "bulk-translate": "translate very much text, on one machine or many",
    "serve": "serve models over HTTP, with a page",
    "score": "compute log-probabilities of given translations",
    "evaluate": "measure BLEU, chrF and the alignment error rate",
    "compare-outputs": "compare translations of several systems: scores, significance, differing sentences",
    "align": "export word alignments as numbers and plots",
    "aligner": "link the words of sentence pairs by an aligner that learns from the pairs",
    "explain": "find unusual pairs and say why they are unusual",
    "info": "describe a run: text, network, progress, best values, files",
    "runs": "print a table of the runs in a directory",
    "embeddings": "look at word vectors: neighbours, analogies, a map",
    "tune": "find the best length penalty for a model",
    "compare": "train and measure variants of a configuration side by side",
    "sweep": "search for hyper-parameters within a budget",
    "curves": "draw the learning curves of several runs",
    "predict-quality": "say what BLEU and chrF to expect of a training, with the uncertainty",
    "distil": "make training pairs from a model's own translations",
    "back-translate": "make training pairs from text of the target language",
    "export": "write a model for other programs and small machines",
    "pack": "make one file of a run, to give away",
    "verify": "check that the files of a run are undamaged",
    "hold-out": "split a corpus into test pairs and training pairs",
    "prepare": "make a corpus of any size ready to train on",
    "clean": "drop the bad pairs of a parallel corpus",
    "doctor": "check this machine and this installation",
    "completion": "print the code that makes a shell complete commands and flags",
}
"""Each command with its line in `nmt --help`."""


def run(argv: Sequence[str]) -> int:
    """Runs the command of a command line and returns its exit code.

    Raises:
        NmtError: a missing, unknown or wrong argument, or an error of the command.
    """
    chosen = next((word for word in argv if not word.startswith("-")), "")
    if chosen and chosen not in COMMANDS:
        raise NmtError(f"unknown command: {chosen}{did_you_mean(chosen, COMMANDS)} (see nmt --help)")
    parser, commands = _parsers(chosen)
    arguments, rest = parser.parse_known_args(argv)
    if rest:
        commands[chosen].error(f"unrecognized arguments: {' '.join(rest)}")
    _require_names(commands[chosen], arguments)
    return module(chosen).run(arguments) or 0


def module(command: str) -> Any:
    """The module of a command."""
    return importlib.import_module(f"nmt.cli.{command.replace('-', '_')}")


def parser_of(command: str) -> Parser:
    """The parser of a command, with its description, its example and its flags."""
    return _parsers(command)[1][command]


def _parsers(chosen: str) -> tuple[Parser, dict[str, Parser]]:
    """The parser of whole command lines, and the parsers of the commands. Only the chosen command is imported."""
    about = "Neural machine translation with attention. nmt COMMAND --help explains a command."
    parser = Parser(prog="nmt", description=about)
    parser.add_argument("--version", action=_Version, help="print the versions that matter and exit")
    commands = parser.add_subparsers(
        title="commands", dest="command", required=True, metavar="COMMAND", parser_class=Parser
    )
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if name == chosen:
            command.description = module(name).DESCRIPTION
            if example := getattr(module(name), "EXAMPLE", ""):
                command.epilog = f"{EXAMPLE_HEADING}\n  {example}"
            command.set_defaults(parser=command)
            module(name).add_flags(command)
            command.usage = command.usage or _usage(command)
    return parser, commands.choices


def complete(line: str) -> None:
    """Gives the shell the words that can complete a command line, and ends the process. No command is run."""
    import argcomplete

    chosen = next((word for word in line.split()[1:] if word in COMMANDS), "")
    parser, commands = _parsers(chosen)
    for action in commands[chosen]._actions if chosen else ():
        kind = getattr(action, "kind", None)
        if get_origin(kind) is Literal:
            action.completer = argcomplete.ChoicesCompleter(dict.fromkeys(get_args(kind), ""))  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options="long", print_suppressed=True)


def _usage(command: Parser) -> str:
    """The flags that a command needs; the usage of argparse has all flags, which are often thirty."""
    needed = [action for action in command._actions if action.required and action.option_strings]
    words = [f"{action.option_strings[0]} {action.metavar}" for action in needed]
    places = [action for action in command._actions if not action.option_strings]
    names = [f"[{place.metavar}]" if place.nargs == "?" else str(place.metavar) for place in places]
    return " ".join([command.prog, *words, "[OPTION ...]", *names])


class _Version(argparse.Action):
    """Prints the versions of nmt, Python and the libraries that matter."""

    def __init__(self, option_strings: list[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **options)

    def __call__(self, parser: Any, *_: Any) -> None:
        from nmt.diagnosis import versions

        print(versions())
        parser.exit()


_NAMED = {"FILE": "a file", "DIR": "a directory", "RUN": "a run"}
"""The things that options name, by metavar."""


def _require_names(command: Parser, arguments: argparse.Namespace) -> None:
    """Refuses an empty name of a file or directory, which an unset variable of the shell leaves.

    The settings of a run have dotted names: an empty one of them takes back the name in a configuration file.
    """
    for action in command._actions:
        value = getattr(arguments, action.dest, None)
        values = value if isinstance(value, list) else [value]
        expected = _NAMED.get(str(action.metavar))
        if expected and "." not in action.dest and "" in values:
            flag = action.option_strings[0] if action.option_strings else "a name"
            raise NmtError(f"{flag} is empty: expected the name of {expected}")
