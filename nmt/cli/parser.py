"""Parts of command lines: the parser, refusals of useless options, types of arguments."""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from nmt.config.checks import shown
from nmt.config.parser import Parser as Parser
from nmt.errors import NmtError


def refuse_idle(arguments: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Refuses options that would have no effect beside the others of their command line. Defaults are accepted.

    Args:
        arguments: the command line, with its parser as `arguments.parser`.
        names: the options.
        why: the rest of the message after the flag: the purpose of the option, and the fix.
    """
    for name in names:
        if getattr(arguments, name) != arguments.parser.get_default(name):
            raise NmtError(f"--{name.replace('_', '-')} {why}")


@contextmanager
def as_flags(settings: type) -> Iterator[None]:
    """Within the block, errors that name fields of a dataclass name their flags instead."""
    try:
        yield
    except NmtError as error:
        names = "|".join(field.name for field in dataclasses.fields(settings))
        # a name that is an English word too means the field only before "is"
        flag = re.compile(rf"\b({names})(?= is )|\b(?=\w+_)({names})\b")
        text = flag.sub(lambda found: "--" + found[0].replace("_", "-"), str(error))
        raise NmtError(text) from None


def positive(text: str) -> int:
    """Type of an argument: a whole number from 1."""
    return _whole_number(text, 1)


def count(text: str) -> int:
    """Type of an argument: a whole number from 0."""
    return _whole_number(text, 0)


def _whole_number(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
        if text.lstrip("+-").isdecimal():  # more digits than Python converts
            value = sys.maxsize + 1
    if value > sys.maxsize:
        raise argparse.ArgumentTypeError(f"{shown(text)}: is too large")
    if value < least:
        raise argparse.ArgumentTypeError(f"{text}: expected {least} or more")
    return value


def finite(text: str) -> float:
    """Type of an argument: a number that is not NaN or infinite."""
    value = _number(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text}: expected a number")
    return value


def share(text: str) -> float:
    """Type of an argument: a number from 0 to below 1."""
    value = _number(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a share, from 0 to below 1")
    return value


def _number(text: str) -> float:
    """The text as a number; NaN for other text."""
    try:
        return float(text)
    except ValueError:
        return math.nan
