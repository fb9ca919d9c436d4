"""Configurations as plain dictionaries, which JSON and YAML can hold, and back."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, get_args, get_origin, get_type_hints

from nmt.config.checks import LARGEST, TOO_LONG, ConfigError, as_number, require, shown
from nmt.config.hints import expected_one_of
from nmt.config.run import RunConfig


def config_to_dict(config: Any) -> dict[str, Any]:
    """The settings as nested dictionaries of plain values, with lists in place of tuples."""
    return {field.name: _plain(getattr(config, field.name)) for field in dataclasses.fields(config)}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return config_to_dict(value)
    return list(value) if isinstance(value, tuple) else value


def network_settings(config: RunConfig) -> dict[str, Any]:
    """The settings that decide which weights a model has: all model settings except dropout."""
    model = config_to_dict(config.model)
    del model["dropout"]
    return model


def config_from_dict(kind: type, values: dict[str, Any]) -> Any:
    """Inverse of `config_to_dict`; settings that are left out have their defaults.

    Raises:
        ConfigError: an unknown field, or a refused value; the message begins with the group of the field, such as
            `corpus.train`.
    """
    return _from_dict(kind, values, "")


def _from_dict(kind: type, values: dict[str, Any], group: str) -> Any:
    where = f"{group}: " if group else ""
    require(isinstance(values, dict), f"{where}expected fields and their values")
    fields, types = {field.name: field for field in dataclasses.fields(kind)}, get_type_hints(kind)
    unknown = sorted(map(str, set(values) - set(fields)))
    require(not unknown, f"{where}unknown field {', '.join(unknown)}")
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        path, inner = f"{group}.{name}" if group else name, fields[name].default_factory
        nested = dataclasses.is_dataclass(inner)
        arguments[name] = _from_dict(inner, value, path) if nested else _checked(path, value, types[name])  # type: ignore[arg-type]
    try:
        return kind(**arguments)
    except ConfigError as error:
        about_field = str(error).partition(" ")[0].rstrip(":") in fields
        raise ConfigError(f"{group}.{error}" if group and about_field else f"{where}{error}") from None


_EXPECTED = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _checked(path: str, value: Any, kind: Any) -> Any:
    """A value from a file, refused where it is not of its field's type."""
    require(value is not TOO_LONG or kind is str, f"{path} is {shown(value)}: expected fewer digits")
    if get_origin(kind) is tuple:
        texts = isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)
        require(texts, f"{path} is {shown(value)}: expected a list of texts, such as [a, b]")
        return tuple(value)
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        require(value in choices, f"{path} is {shown(value)}: {expected_one_of(value, choices)}")
        return value
    if kind is float:
        value = as_number(value)
        value = float(value) if type(value) is int and abs(value) < 2**1000 else value
    quotes = ", in quotes such as 'no' if it looks like something else" if kind is str and value is not None else ""
    require(type(value) is kind, f"{path} is {shown(value)}: expected {_EXPECTED[kind]}{quotes}")
    require(kind is not int or abs(value) <= LARGEST, f"{path} is {shown(value)}: expected fewer digits")
    return value
