"""The parser of all command lines of nmt. Dashes and underscores are equal in the names of flags."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from nmt.config.hints import did_you_mean, expected_one_of
from nmt.errors import NmtError

EXAMPLE_HEADING = "example:"
"""Begins the last paragraph of a command's help."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are an `NmtError` with one line. It takes no abbreviations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", _HelpFormatter)
        kwargs["allow_abbrev"] = False
        self.groups: dict[str, list[str]] = {}
        """The flags of each group of settings. A group has no flag of its own."""
        self.aliases: dict[str, str] = {}
        """Other spellings of flags, each with the flag that was declared."""
        super().__init__(*args, **kwargs)

    def error(self, message: str) -> NoReturn:
        raise NmtError(f"{message} (see {self.prog} --help)")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuses a value that is none of the flag's choices, with the most similar choice."""
        if action.choices is not None and value not in action.choices:
            name = action.option_strings[0] if action.option_strings else action.metavar
            self.error(f"{name} is {value!r}: {expected_one_of(value, action.choices)}")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if not self._subparsers:
            args = [*self._declared_flags(sys.argv[1:] if args is None else args)]
        return super().parse_known_args(args, namespace)

    def _declared_flags(self, argv: Sequence[str]) -> Iterator[str]:
        """The words of a command line with each flag spelled as in its declaration.

        Raises:
            NmtError: an unknown flag, or a flag that names a group. argparse would report missing flags first.
        """
        declared = {_plain(flag): flag for flag in self._option_string_actions}
        declared |= {_plain(alias): flag for alias, flag in self.aliases.items()}
        words = iter(argv)
        for word in words:
            if word == "--":
                yield word
                break
            if not word.startswith("--"):
                yield word
                continue
            name, equals, value = word.partition("=")
            if _plain(name) not in declared:
                self._refuse(name)
            yield f"{declared[_plain(name)]}{equals}{value}"
        yield from words

    def _refuse(self, flag: str) -> NoReturn:
        if (name := flag.removeprefix("--")) in self.groups:
            self.error(f"{name} is a group: set one of {', '.join(self.groups[name])}")
        places = [action.metavar for action in self._actions if not action.option_strings]
        if flag == "--model" and places:  # as most commands name a run
            self.error(f"unrecognized argument: {flag}: give {places[0]} without a flag")
        self.error(f"unrecognized argument: {flag}{did_you_mean(flag, self._option_string_actions)}")


def _plain(flag: str) -> str:
    return flag.replace("_", "-")


class _HelpFormatter(argparse.HelpFormatter):
    """Shows --NAME and --no-NAME as --[no-]NAME, and leaves the line of an example whole, so that it can be pasted."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(EXAMPLE_HEADING) else super()._fill_text(text, width, indent)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        flags = action.option_strings
        if flags and f"--no-{flags[0].removeprefix('--')}" in flags:
            return "--[no-]" + flags[0].removeprefix("--")
        return super()._format_action_invocation(action)
