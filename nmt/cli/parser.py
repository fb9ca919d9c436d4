"""Parts of command lines: the parser, refusals of useless options, types of arguments."""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

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
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected 1 or more")
    if int(text) > sys.maxsize:
        raise argparse.ArgumentTypeError(f"{text}: is too large")
    return int(text)


def count(text: str) -> int:
    """Type of an argument: a whole number from 0."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{value}: expected 0 or more")
    if value > sys.maxsize:
        raise argparse.ArgumentTypeError(f"{text}: is too large")
    return value


def finite(text: str) -> float:
    """Type of an argument: a number that is not NaN or infinite."""
    value = float(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text}: expected a number")
    return value


def share(text: str) -> float:
    """Type of an argument: a number from 0 to below 1."""
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a share, from 0 to below 1")
    return value
