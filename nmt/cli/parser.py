"""What command lines are declared with: a parser whose errors are ours, flags from dataclasses, types of arguments."""

from __future__ import annotations

import argparse
import ast
import inspect
import itertools
import math
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal, NoReturn, cast, get_args, get_origin, get_type_hints

from nmt.errors import NmtError


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are those of every other room."""

    def error(self, message: str) -> NoReturn:
        raise NmtError(f"{message} (see {self.prog} --help)")


def add_fields(
    group: argparse._ArgumentGroup, settings: type, defaults: bool = False, without: Collection[str] = ()
) -> None:
    """A flag for each field of a dataclass but those `without`; with `defaults` the help says what holds where it is
    not given."""
    hints = get_type_hints(settings)
    for name, text in field_help(settings).items():
        if name in without:
            continue
        flag, kind = "--" + name.replace("_", "-"), hints[name]
        if defaults:
            value = getattr(settings, name)
            text += f" (default: {('no', 'yes')[value] if kind is bool else value})"
        if kind is bool:
            group.add_argument(flag, action=argparse.BooleanOptionalAction, help=text)
        elif get_origin(kind) is Literal:
            group.add_argument(flag, choices=get_args(kind), help=text)
        elif get_origin(kind) is tuple:
            group.add_argument(flag, nargs="+", metavar="TEXT", help=text)
        else:
            group.add_argument(flag, type=kind, metavar={int: "N", str: "TEXT"}.get(kind, "X"), help=text)


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
    """Errors within that name fields of a dataclass name the flags of `add_fields` instead."""
    try:
        yield
    except NmtError as error:
        names = "|".join(field_help(settings))  # one that is a word of English too is meant before "is" alone
        flag = re.compile(rf"\b({names})(?= is )|\b(?=\w+_)({names})\b")
        text = flag.sub(lambda found: "--" + found[0].replace("_", "-"), str(error))
        raise NmtError(text) from None


def field_help(kind: type) -> dict[str, str]:
    """The docstring below each field of a dataclass."""
    body = cast(ast.ClassDef, ast.parse(inspect.getsource(kind)).body[0]).body
    return {
        field.target.id: " ".join(text.value.value.split()).replace("%", "%%")
        for field, text in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


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
