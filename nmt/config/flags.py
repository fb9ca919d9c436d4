"""Flags of the command line, made from settings: a flag for each setting, whose help text it shows."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Literal, get_args, get_origin

from nmt.config.checks import LARGEST, ConfigError, shown
from nmt.config.fields import Setting, groups_of, settings_of
from nmt.config.hints import expected_one_of
from nmt.config.parser import Parser


class BooleanFlag(argparse.Action):
    """--NAME and --no-NAME; --NAME true and --NAME false."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        both = [*option_strings, *(f"--no-{flag.removeprefix('--')}" for flag in option_strings)]
        super().__init__(both, dest, nargs="?", metavar="true|false", **options)

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        flag = str(option_string)
        negative = flag not in self.option_strings[: len(self.option_strings) // 2]
        if negative and values is not None:
            raise ConfigError(f"{flag} is {values!r}: expected no value behind this flag")
        setattr(namespace, self.dest, not negative if values is None else _truth(flag, values))


def add_settings(
    parser: argparse._ActionsContainer,
    settings: Iterable[Setting],
    spell: Callable[[str], str] = lambda name: name,
    with_defaults: bool = True,
) -> None:
    """Adds a flag for each setting; the value of a missing flag is None.

    Args:
        parser: a parser, or a group of its flags.
        settings: from `settings_of`.
        spell: makes the name of a flag from the name of a setting.
        with_defaults: whether the help text ends with the default.
    """
    for setting in settings:
        flag, kind = "--" + spell(setting.name), setting.type
        text = setting.help.replace("%", "%%")
        if with_defaults and setting.default not in ("", ()):
            text = f"{text.removesuffix('.')} (default: {_shown(setting.default)})"
        options: dict[str, Any] = {"dest": setting.name, "help": text}
        if kind is bool:
            parser.add_argument(flag, action=BooleanFlag, **options)
        elif get_origin(kind) is tuple:
            parser.add_argument(flag, action=_ListFlag, nargs="+", metavar="TEXT", **options)
        else:
            parser.add_argument(flag, action=_ValueFlag, kind=kind, metavar=setting.path or _metavar(kind), **options)


def add_groups(parser: Parser, kind: type) -> None:
    """Adds a flag for each setting of nested dataclasses, such as --model.attention.score; each group has a heading."""
    inner = {name.partition(".")[0] for name, _ in groups_of(kind)}
    everything = list(settings_of(kind))
    add_settings(parser, [setting for setting in everything if "." not in setting.name])
    for name, within in groups_of(kind):
        parser.groups[name] = [f"--{setting.name}" for setting in settings_of(within, f"{name}.")]
        if name in inner:
            chosen = [setting for setting in everything if setting.name.startswith(f"{name}.")]
            add_settings(parser.add_argument_group(name), chosen)


def nested(values: dict[str, Any]) -> dict[str, Any]:
    """Values by dotted names as nested dictionaries."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        *groups, last = name.split(".")
        within = found
        for outer in groups:
            within = within.setdefault(outer, {})
        within[last] = value
    return found


def parse_flags(kind: type, flags: Sequence[str], prog: str) -> dict[str, Any]:
    """The settings that flags such as `["--model.units", "512"]` give, as nested dictionaries.

    Raises:
        NmtError: an unknown flag, or a value of another type than its setting's.
    """
    parser = Parser(prog=prog, add_help=False)
    add_groups(parser, kind)
    return nested({name: value for name, value in vars(parser.parse_args(flags)).items() if value is not None})


class _ValueFlag(argparse.Action):
    """--NAME VALUE, with a value of the type `kind`."""

    def __init__(self, option_strings: Sequence[str], dest: str, kind: Any, **options: Any) -> None:
        super().__init__(option_strings, dest, **options)
        self.kind = kind

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        flag, value = str(option_string), values
        if get_origin(self.kind) is Literal:
            value = _choice(flag, values, get_args(self.kind))
        elif self.kind in (int, float):
            value = _number(flag, values, self.kind)
        setattr(namespace, self.dest, value)


class _ListFlag(argparse.Action):
    """Texts, one after the other or as one list of YAML: --NAME a b, or --NAME '[a, b]'."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if len(values) == 1 and values[0].startswith("[") and values[0].endswith("]"):
            values = _yaml_list(str(option_string), values[0])
        setattr(namespace, self.dest, list(values))


def _yaml_list(flag: str, text: str) -> list[str]:
    import yaml

    try:
        values = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: such as an impossible date
        values = None
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ConfigError(f"{flag} is {text!r}: expected a list of texts, such as '[a, b]'")
    return values


def _choice(flag: str, text: str, choices: Collection[str]) -> str:
    if text not in choices:
        raise ConfigError(f"{flag} is {text!r}: {expected_one_of(text, choices)}")
    return text


def _number(flag: str, text: str, kind: type) -> Any:
    try:
        value = kind(text)
        if abs(value) <= LARGEST if kind is int else math.isfinite(value):
            return value
    except ValueError:
        pass
    raise ConfigError(f"{flag} is {shown(text)}: expected {'a whole number' if kind is int else 'a number'}")


def _truth(flag: str, text: str) -> bool:
    truths = {"true": True, "yes": True, "false": False, "no": False}
    if text.lower() not in truths:
        raise ConfigError(f"{flag} is {text!r}: expected true or false")
    return truths[text.lower()]


def _metavar(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "{" + ",".join(get_args(kind)) + "}"
    return {int: "N", str: "TEXT"}.get(kind, "X")


def _shown(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else f"{value}"
