"""The space of hyper-parameters: a YAML file that names fields of the configuration, and a range for each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.config import ConfigError, RunConfig, config_from_dict
from nmt.config.checks import as_number, shown
from nmt.config.fields import settings_of
from nmt.config.flags import nested
from nmt.config.reading import merge_fields
from nmt.config.relative_paths import fields_from_file, from_file
from nmt.config.yaml_files import load_fields, read_yaml
from nmt.errors import NmtError

if TYPE_CHECKING:
    from optuna import Trial

RANGE_KEYS = {"low", "high", "step", "log", "choices"}

_KINDS = {setting.name: setting.type for setting in settings_of(RunConfig)}
"""The type of each field."""

Range = dict[str, Any]
"""`choices`, or `low` and `high` with `step` or `log`."""


@dataclass(frozen=True)
class Space:
    """The settings that all trials share, and the ranges of the fields that vary."""

    common: dict[str, Any]
    ranges: dict[str, Range]
    """By the name of a field, such as `model.dropout.readout`."""
    metric: str
    """`bleu` or `loss` of the validation pairs."""

    def suggest(self, trial: Trial) -> dict[str, Any]:
        """Asks optuna for a value of each field that varies."""
        return {name: _suggest(trial, name, given) for name, given in self.ranges.items()}

    def fields(self, values: dict[str, Any], name: str, directory: str) -> dict[str, Any]:
        """The settings of a trial as `nmt train --config` reads them.

        Raises:
            ConfigError: the values contradict each other.
        """
        fields = merge_fields(self.common, nested({"name": name, "directory": directory, **values}))
        config_from_dict(RunConfig, fields)
        return fields


def read_space(path: Path) -> Space:
    """Reads a YAML file with these fields; paths in it begin at its folder:

        config:  configuration file that all trials begin with
        common:  fields that override the configuration file
        metric:  bleu (the default) or loss
        space:   names of fields, each with its range

    Raises:
        NmtError: an unknown or missing field, or a range that the configuration refuses.
    """
    values = read_yaml(path)
    defaults: dict[str, Any] = {"config": "", "common": {}, "metric": "bleu", "space": None}
    if not isinstance(values, dict) or not set(values) <= set(defaults):
        raise NmtError(f"{path}: expected the fields {', '.join(defaults)}")
    values = defaults | values
    if values["metric"] not in ("bleu", "loss"):
        raise NmtError(f"{path}: metric is {values['metric']}: expected bleu or loss")
    config, common = values["config"] or "", values["common"] or {}
    if not isinstance(config, str) or not isinstance(common, dict):
        raise NmtError(f"{path}: expected a file name at config, and fields below common")
    common = fields_from_file(common, path)
    common = merge_fields(load_fields(from_file(config, path)) if config else {}, common)
    space = Space(common, _read_ranges(path, values["space"]), values["metric"])
    _check_ends(path, space)
    return space


def _check_ends(path: Path, space: Space) -> None:
    """Refuses a range whose first or last value the configuration refuses."""
    for name, given in space.ranges.items():
        ends = given.get("choices", [given.get("low"), given.get("high")])
        for value in (ends[0], ends[-1]):
            try:
                space.fields({name: value}, "trial", "runs")
            except ConfigError as error:
                raise NmtError(f"{path}: space: {name} = {value}: {error}") from None


def _read_ranges(path: Path, ranges: Any) -> dict[str, Range]:
    if not isinstance(ranges, dict) or not ranges:
        raise NmtError(f"{path}: space: expected fields, each with low and high, or with choices")
    for name, given in ranges.items():
        _check_range(f"{path}: space: {name}", name, given)
    return ranges


def _check_range(place: str, name: str, given: Any) -> None:
    """Checks one range, and turns its values into numbers where YAML left text, such as 1e-4.

    Args:
        place: the file and the field, for error messages.
    """
    from optuna.trial import FixedTrial

    if not isinstance(name, str):
        raise NmtError(f"{place}: expected the name of a field, such as model.units")
    known = isinstance(given, dict) and set(given) <= RANGE_KEYS
    if not known or ("choices" in given) == ("low" in given and "high" in given):
        raise NmtError(f"{place}: expected choices, or low and high with an optional step or log")
    if "choices" in given and not (isinstance(given["choices"], list) and given["choices"]):
        raise NmtError(f"{place}: choices: expected a list")
    given |= {key: as_number(value) for key, value in given.items()}
    for key in ("low", "high", "step"):
        if isinstance(number := given.get(key), float) and not math.isfinite(number):
            raise NmtError(f"{place}: {key} is {shown(number)}: expected a finite number")
    if _KINDS.get(name) is int and "low" in given:
        given |= {key: _whole(f"{place}: {key}", given[key]) for key in ("low", "high", "step") if key in given}
    first = given["choices"][0] if "choices" in given else given["low"]
    try:
        _suggest(FixedTrial({name: first}), name, given)
    except (ValueError, TypeError, ArithmeticError) as error:  # such as low above high
        raise NmtError(f"{place}: {error}") from None


def _whole(place: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise NmtError(f"{place} is {shown(value)}: expected a whole number")
    return int(value)


def _suggest(trial: Any, name: str, given: Range) -> Any:
    if "choices" in given:
        return trial.suggest_categorical(name, given["choices"])
    low, high, log = given["low"], given["high"], bool(given.get("log"))
    if _KINDS.get(name) is int:
        return trial.suggest_int(name, low, high, step=given.get("step", 1), log=log)
    return trial.suggest_float(name, low, high, step=given.get("step"), log=log)
