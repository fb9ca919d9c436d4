"""Configurations as plain dictionaries, which JSON and YAML can hold, and back."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, get_args, get_origin, get_type_hints

from nmt.config.checks import ConfigError, as_number, require
from nmt.config.run import RunConfig


def config_to_dict(config: Any) -> dict[str, Any]:
    """The configuration as plain nested dictionaries, tuples as lists: what is written to JSON or YAML."""
    return {
        f.name: config_to_dict(value)
        if dataclasses.is_dataclass(value)
        else list(value)
        if isinstance(value, tuple)
        else value
        for f in dataclasses.fields(config)
        for value in [getattr(config, f.name)]
    }


def network_settings(config: RunConfig) -> dict[str, Any]:
    """The fields that a model's weights depend on: those of the model but dropout."""
    model = config_to_dict(config.model)
    del model["dropout"]
    return model


PLAIN: dict[type, tuple[tuple[type, ...], str]] = {
    int: ((int,), "a whole number"),
    float: ((float, int), "a number"),
    bool: ((bool,), "true or false"),
    str: ((str,), "text"),
}
"""Of the plain types that fields are annotated with: what a file may hold for them, and what that is called."""


def config_from_dict(kind: type, values: dict[str, Any]) -> Any:
    """Reads back what `config_to_dict` wrote.

    Raises:
        ConfigError: a field that `kind` does not have, or a value that it refuses; the message begins with the group
            that it is in, such as `corpus.train`.
    """
    return _from_dict(kind, values, "")


def _from_dict(kind: type, values: dict[str, Any], group: str) -> Any:
    where = f"{group}: " if group else ""
    require(isinstance(values, dict), f"{where}expected fields and their values")
    fields, types = {f.name: f for f in dataclasses.fields(kind)}, get_type_hints(kind)
    unknown = sorted(map(str, set(values) - set(fields)))
    require(not unknown, f"{where}unknown field {', '.join(unknown)}")
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        path, nested = f"{group}.{name}" if group else name, fields[name].default_factory
        if dataclasses.is_dataclass(nested):
            arguments[name] = _from_dict(nested, value, path)
            continue
        if types[name] in PLAIN:
            kinds, expected = PLAIN[types[name]]
            value = as_number(value) if types[name] is float else value
            require(type(value) in kinds, f"{path} is {value!r}: expected {expected}")
        if get_origin(types[name]) is tuple:
            texts = isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)
            require(texts, f"{path} is {value!r}: expected a list of texts, such as [a, b]")
        if get_origin(types[name]) is Literal:
            choices = get_args(types[name])
            require(value in choices, f"{path} is {value!r}: expected one of {', '.join(map(str, choices))}")
        arguments[name] = tuple(value) if isinstance(value, list) else value
    try:
        return kind(**arguments)
    except ConfigError as error:
        about_field = str(error).partition(" ")[0].rstrip(":") in fields
        raise ConfigError(f"{group}.{error}" if group and about_field else f"{where}{error}") from None
