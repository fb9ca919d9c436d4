"""The configuration of a run from a recipe, a YAML or JSON file over it and flags over both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.config.checks import ConfigError
from nmt.config.conversion import config_from_dict
from nmt.config.run import RunConfig


def merge_fields(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Nested fields of both; `over` wins where both have a field."""

    def beneath(name: str) -> dict[str, Any]:
        values = under.get(name)
        return values if isinstance(values, dict) else {}

    return dict(under) | {
        name: merge_fields(beneath(name), value) if isinstance(value, dict) else value for name, value in over.items()
    }


def build_config(fields: dict[str, Any], path: str | Path | None, flags: dict[str, Any]) -> RunConfig:
    """The configuration with these fields, and the fields that flags give over them.

    Args:
        fields: nested fields from a recipe and from the file at `path`.
        path: names the file in the message about a wrong field.
        flags: nested fields from the command line.

    Raises:
        ConfigError: a refused value.
    """
    try:
        config: RunConfig = config_from_dict(RunConfig, merge_fields(fields, flags))
        return config
    except ConfigError as error:
        if path is not None and _refusal(fields) == str(error):  # the file is wrong without the flags too
            raise ConfigError(f"{path}: {error}") from None
        raise


def _refusal(fields: dict[str, Any]) -> str:
    """The message about these fields alone; "" if they are accepted."""
    try:
        config_from_dict(RunConfig, fields)
    except ConfigError as error:
        return str(error)
    return ""
