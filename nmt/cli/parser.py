"""Parts of command lines: the parser, refusals of useless options, types of arguments."""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from nmt.config.flags import Parser as Parser
from nmt.errors import NmtError


def refuse_idle(arguments: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Refuses options that would do nothing beside the others of their command line; the defaults may stand there.

    Args:
        arguments: with the parser that made them, `parser`.
        why: what each of these options is for, and what to do; follows upon its flag.
    """
    for name in names:
        if getattr(arguments, name) != arguments.parser.get_default(name):
            raise NmtError(f"--{name.replace('_', '-')} {why}")


@contextmanager
def as_flags(settings: type) -> Iterator[None]:
    """Errors within the block that name fields of a dataclass name their flags instead."""
    try:
        yield
    except NmtError as error:
        names = "|".join(field.name for field in dataclasses.fields(settings))
        # a name that is an English word too means the field only before "is"
        flag = re.compile(rf"\b({names})(?= is )|\b(?=\w+_)({names})\b")
        text = flag.sub(lambda found: "--" + found[0].replace("_", "-"), str(error))
        raise NmtError(text) from None


def positive(text: str) -> int:
    """A number from 1, as the type of an argument."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected 1 or more")
    if int(text) > sys.maxsize:
        raise argparse.ArgumentTypeError(f"{text}: is too large")
    return int(text)


def count(text: str) -> int:
    """A number from 0, as the type of an argument."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{value}: expected 0 or more")
    if value > sys.maxsize:
        raise argparse.ArgumentTypeError(f"{text}: is too large")
    return value


def finite(text: str) -> float:
    """A number that is one, as the type of an argument."""
    value = float(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text}: expected a number")
    return value


def share(text: str) -> float:
    """A number from 0 to below 1, as the type of an argument."""
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a share, from 0 to below 1")
    return value
