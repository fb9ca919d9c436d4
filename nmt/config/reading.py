"""RunConfig from a recipe, a YAML or JSON file over it and flags over both (jsonargparse)."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.config import ConfigError, RunConfig, config_from_dict, recipes
from nmt.config.conversion import PLAIN
from nmt.config.hints import did_you_mean, unknown_flags
from nmt.config.saved import upgrade_fields

if TYPE_CHECKING:
    from jsonargparse import ArgumentParser

_DESCRIPTION = (
    "Trains a model into a run directory, or goes on with a run that was interrupted. Each field can be set in a YAML "
    "or JSON file and, over it, by a flag: --model.units 512 is what `model: {units: 512}` is in the file. Relative "
    "paths are relative to the working directory, those in a file too. --recipe NAME begins with settings that come "
    f"with nmt, which file and flags go over: {', '.join(recipes.NAMES)}, each made for about as many pairs, or auto, "
    "the one for as many as there are."
)


def parse_fields(fields: dict[str, Any], path: str | Path | None, flags: Sequence[str]) -> RunConfig:
    """The configuration of these fields with flags over them; the fields are those of the file at `path`."""
    parser = _parser()
    try:
        values = parser.parse_object(fields)
    except argparse.ArgumentError as error:
        raise ConfigError(f"{path}: {_plain(error)}") from None
    try:
        parsed = parser.parse_args(list(flags), namespace=values).as_dict()
    except argparse.ArgumentError as error:
        raise ConfigError(f"{_plain(error)}{_nearest(parser, flags)} (see nmt train --help)") from None
    del parsed["config"]
    try:
        return config_from_dict(RunConfig, parsed)
    except ConfigError as error:
        if path is not None and _refused(fields) == str(error):  # and not what a flag has made of them
            raise ConfigError(f"{path}: {error}") from None
        raise


def _refused(fields: dict[str, Any]) -> str:
    """Why these fields alone make no configuration; "" where they do."""
    try:
        config_from_dict(RunConfig, fields)
    except ConfigError as error:
        return str(error)
    return ""


def _nearest(parser: ArgumentParser, flags: Sequence[str]) -> str:
    """What the first flag that is none of the parser's may have meant."""
    known = parser._option_string_actions
    return next((did_you_mean(flag, known) for flag in unknown_flags(flags, known)), "")


def merge_fields(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """The nested fields of `over` over those of `under`."""

    def beneath(name: str) -> dict[str, Any]:
        values = under.get(name)
        return values if isinstance(values, dict) else {}

    return dict(under) | {
        name: merge_fields(beneath(name), value) if isinstance(value, dict) else value for name, value in over.items()
    }


def _parser() -> ArgumentParser:
    from jsonargparse import ArgumentParser, set_parsing_settings

    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    parser = ArgumentParser(
        prog="nmt train",
        usage="nmt train [--recipe NAME] [--config FILE] [--FIELD VALUE ...] [--print_config]",
        description=_DESCRIPTION,
        exit_on_error=False,
        allow_abbrev=False,
    )
    # The file is read by `load_config`, so that flags win wherever they stand; this is for the help and --print_config.
    parser.add_argument(
        "--config", action="config", metavar="FILE", help="YAML or JSON file of fields, or the config.json of a run."
    )
    parser.add_class_arguments(RunConfig, as_group=False)
    return parser


def load_fields(path: str | Path) -> dict[str, Any]:
    """The fields that a YAML or JSON file sets, their names checked; a group without any, such as a `model:` whose
    fields are commented out, is left out.

    Raises:
        ConfigError: as `load_config`.
    """
    values = read_yaml(path)
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: expected fields, such as `name: first`")
    if "format" in values:  # the config.json of a run
        try:
            values = upgrade_fields(values)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
    problems = list(_problems(values, RunConfig, ""))
    if problems:
        raise ConfigError(f"{path}: {'; '.join(problems)}")
    return _without_empty(values)


def read_yaml(path: str | Path) -> Any:
    """What a YAML or JSON file says, plain values alone. No name may stand twice in one place, where YAML would take
    the last.

    Raises:
        ConfigError: a file that cannot be read, or not as YAML.
    """
    import yaml

    path = Path(path)
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _yaml_loader())  # a SafeLoader
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid UTF-8 at byte {error.start}: save it as UTF-8") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from None
    except ValueError as error:  # such as of a date that there is not
        raise ConfigError(f"{path}: {error}: text is written in quotes") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply: expected fields") from None


@functools.cache
def _yaml_loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """Of plain values, as `read_yaml` says."""

        def compose_mapping_node(self, anchor: Any) -> Any:
            node, seen = super().compose_mapping_node(anchor), set()
            names = (name for name, _ in node.value if isinstance(name, yaml.ScalarNode))
            for name in names:
                if (name.tag, name.value) in seen and name.value != "<<":  # what is merge_fields in may be several
                    raise yaml.composer.ComposerError(
                        "in these fields", node.start_mark, f"{name.value} stands twice", name.start_mark
                    )
                seen.add((name.tag, name.value))
            return node

    return Loader


def _problems(values: dict[Any, Any], kind: type, prefix: str) -> Iterator[str]:
    """What is wrong with the names in a file, all of it at once."""
    groups = {
        f.name: f.default_factory for f in dataclasses.fields(kind) if dataclasses.is_dataclass(f.default_factory)
    }
    names = [f.name for f in dataclasses.fields(kind)]
    for name, value in values.items():
        if name not in names:
            yield f"unknown field {prefix}{name}{did_you_mean(str(name), names, prefix)}"
        elif name in groups and isinstance(value, dict):
            yield from _problems(value, groups[name], f"{prefix}{name}.")  # type: ignore[arg-type]
        elif name in groups and value is not None:
            yield f"{prefix}{name} is {value!r}: expected its fields, indented below it"


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _without_empty(value) if isinstance(value, dict) else value
        for name, value in values.items()
        if value is not None
    }


def _plain(error: argparse.ArgumentError) -> str:
    """jsonargparse's message in one line and in our own terms, without Python's names of types."""
    text = re.sub(r'Parser key "([^"]+)":', r"\1:", " ".join(str(error).split()))
    wrong = re.fullmatch(r"(?P<field>\S+): Expected a (?P<kind>.+)\. Got value: (?P<value>.*)", text)
    if wrong is None:
        return text
    kind = re.sub(r"<class '(\w+)'>", r"\1", wrong["kind"])
    one_of = re.sub(r"typing\.Literal\[(.*)\]", r"one of \1", kind).replace("'", "")
    return f"{wrong['field']} is {wrong['value']!r}: expected {_KINDS.get(kind, one_of)}"


_KINDS = {kind.__name__: words for kind, (_, words) in PLAIN.items()} | {"tuple": "a list, such as [a, b]"}
"""What users call the types of fields."""
