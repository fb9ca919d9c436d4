"""Fields of settings: each has a default and a help text, which the command line shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

HELP, PATH = "help", "path"
"""The keys of a field's metadata: its help text, and the kind of path that it holds."""


def setting(default: Any, help: str, path: Literal["", "FILE", "DIR"] = "") -> Any:
    """A field of a dataclass that holds one value. `path` marks the name of a file or directory that is read."""
    return dataclasses.field(default=default, metadata={HELP: help, PATH: path})


def group(kind: type, help: str) -> Any:
    """A field of a dataclass that holds settings of its own, as `kind` has them by default."""
    return dataclasses.field(default_factory=kind, metadata={HELP: help})


@dataclass(frozen=True)
class Setting:
    """One value of nested settings."""

    name: str
    """Dotted name, such as `model.attention.score`."""
    type: Any
    default: Any
    help: str
    path: str = ""
    """FILE or DIR for the name of a file or directory that is read; "" for other values."""


def settings_of(kind: type, prefix: str = "") -> Iterator[Setting]:
    """All values of a dataclass and of the groups within it, in order; `prefix` begins their names."""
    types = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        name = prefix + field.name
        if dataclasses.is_dataclass(field.default_factory):
            yield from settings_of(field.default_factory, f"{name}.")
        else:
            yield Setting(name, types[field.name], field.default, field.metadata[HELP], field.metadata[PATH])


def groups_of(kind: type, prefix: str = "") -> Iterator[tuple[str, type]]:
    """All groups within a dataclass, outer groups first: dotted name and class."""
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(field.default_factory):
            name = prefix + field.name
            yield name, field.default_factory
            yield from groups_of(field.default_factory, f"{name}.")
