"""YAML files, which JSON files are too: their values, and the settings that they give."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmt.config.checks import TOO_LONG, ConfigError, shown
from nmt.config.conversion import config_to_dict
from nmt.config.hints import did_you_mean
from nmt.config.relative_paths import fields_from_file
from nmt.config.run import RunConfig
from nmt.config.saved import upgrade_fields


def load_fields(path: str | Path) -> dict[str, Any]:
    """The settings of a run that a YAML or JSON file gives, with checked names.

    An empty group is left out, such as `model:` with all its fields commented out. Relative paths begin at the folder
    of the file (`nmt.config.relative_paths`), but in the config.json of a run at the working directory of its training.

    Raises:
        ConfigError: a file that cannot be read, or unknown names.
    """
    values = read_yaml(path)
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: expected fields, such as `name: first`")
    saved = "format" in values  # the config.json of a run
    if saved:
        try:
            values = upgrade_fields(values)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
    problems = list(_problems(values, RunConfig, ""))
    if problems:
        raise ConfigError(f"{path}: {'; '.join(problems)}")
    fields = _without_empty(values)
    return fields if saved else fields_from_file(fields, path)


def as_yaml(config: RunConfig) -> str:
    """All settings as the text of a YAML file, which `load_fields` reads back."""
    import yaml

    return str(yaml.safe_dump(config_to_dict(config), sort_keys=False, allow_unicode=True))


def read_yaml(path: str | Path) -> Any:
    """The values in a YAML or JSON file. Only plain values are read, and no name may occur twice in one place.

    Raises:
        ConfigError: a file that cannot be read, or is not such YAML.
    """
    import yaml

    path = Path(path)
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _loader())  # a SafeLoader
    except IsADirectoryError:
        raise ConfigError(f"{path}: is a directory: name a file, such as {path / 'config.json'}") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid UTF-8 at byte {error.start}: save it as UTF-8") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML{_described(error)}") from None
    except ValueError as error:  # such as an impossible date
        raise ConfigError(f"{path}: {error}: text is written in quotes") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply: expected fields") from None


def _described(error: Any) -> str:
    """The place and the reason of an error of YAML, without the library's name for a text that is no file."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is not None:
        return f", line {mark.line + 1}, column {mark.column + 1}: {problem}"
    if hasattr(error, "position"):  # of a character that YAML forbids
        return f": character {error.position + 1} of the file cannot be in YAML: {error.reason}"
    return f": {' '.join(str(error).split())}"


@functools.cache
def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuses a name that occurs twice in one place; YAML would take its last value."""

        def construct_yaml_int(self, node: Any) -> Any:
            try:
                return super().construct_yaml_int(node)
            except ValueError:
                return TOO_LONG

        def compose_mapping_node(self, anchor: Any) -> Any:
            node, seen = super().compose_mapping_node(anchor), set()
            names = (name for name, _ in node.value if isinstance(name, yaml.ScalarNode))
            for name in names:
                if (name.tag, name.value) in seen and name.value != "<<":  # several mappings may be merged in
                    problem = f"{name.value} stands twice in one place"
                    raise yaml.composer.ComposerError(problem=problem, problem_mark=name.start_mark)
                seen.add((name.tag, name.value))
            return node

    Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_yaml_int)
    return Loader


def _problems(values: dict[Any, Any], kind: type, prefix: str) -> Iterator[str]:
    """All that is wrong with the names in a file."""
    groups = {
        field.name: field.default_factory
        for field in dataclasses.fields(kind)
        if dataclasses.is_dataclass(field.default_factory)
    }
    names = [field.name for field in dataclasses.fields(kind)]
    for name, value in values.items():
        if name not in names:
            yield f"unknown field {prefix}{name}{did_you_mean(str(name), names, prefix)}"
        elif name in groups and isinstance(value, dict):
            yield from _problems(value, groups[name], f"{prefix}{name}.")  # type: ignore[arg-type]
        elif name in groups and value is not None:
            yield f"{prefix}{name} is {shown(value)}: expected its fields, indented below it"


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _without_empty(value) if isinstance(value, dict) else value
        for name, value in values.items()
        if value is not None
    }
