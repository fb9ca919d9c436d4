"""What a search may vary: a YAML file of fields and their ranges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt.config import ConfigError, RunConfig, config_from_dict
from nmt.config.checks import as_number
from nmt.config.reading import load_fields, merge_fields, read_yaml
from nmt.errors import NmtError

if TYPE_CHECKING:
    from optuna import Trial

KEYS = {"low", "high", "step", "log", "choices"}


@dataclass(frozen=True)
class Space:
    """Settings that all trials share, and the ranges of those that vary."""

    common: dict[str, Any]
    ranges: dict[str, dict[str, Any]]
    """By the name of a field, such as `model.dropout.readout`: `choices`, or `low` and `high` with `step` or `log`."""
    metric: str
    """`bleu` or `loss` of the validation pairs."""

    def suggest(self, trial: Trial) -> dict[str, Any]:
        """Values for one trial, by name."""
        return {name: _suggested(trial, name, given) for name, given in self.ranges.items()}

    def fields(self, values: dict[str, Any], name: str, directory: str) -> dict[str, Any]:
        """The settings of a trial as `nmt train --config` reads them.

        Raises:
            ConfigError: values that contradict each other.
        """
        fields = merge_fields(self.common, {"name": name, "directory": directory})
        for field, value in values.items():
            fields = merge_fields(fields, _nested(field, value))
        config_from_dict(RunConfig, fields)
        return fields


def read_space(path: Path) -> Space:
    """Reads a YAML file with these fields:

        config:  configuration file that all trials begin with
        common:  fields over it
        metric:  bleu (the default) or loss
        space:   names of fields, each with its range

    Raises:
        NmtError: a file that is not that.
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
        raise NmtError(f"{path}: expected a file's name as config, and fields below common")
    common = merge_fields(load_fields(config) if config else {}, common)
    space = Space(common, _ranges(path, values["space"]), values["metric"])
    for name, given in space.ranges.items():
        ends = given.get("choices", [given.get("low"), given.get("high")])
        for value in (ends[0], ends[-1]):
            try:
                space.fields({name: value}, "trial", "runs")
            except ConfigError as error:
                raise NmtError(f"{path}: space: {name} = {value}: {error}") from None
    return space


def _ranges(path: Path, given: Any) -> dict[str, dict[str, Any]]:
    from optuna.trial import FixedTrial

    if not isinstance(given, dict) or not given:
        raise NmtError(f"{path}: space: expected fields, each with low and high, or with choices")
    for name, values in given.items():
        fits = isinstance(values, dict) and set(values) <= KEYS
        if not fits or ("choices" in values) == ("low" in values and "high" in values):
            raise NmtError(f"{path}: space: {name}: expected choices, or low and high with step or log if need be")
        if "choices" in values and not (isinstance(values["choices"], list) and values["choices"]):
            raise NmtError(f"{path}: space: {name}: choices: expected a list")
        values |= {end: as_number(value) for end, value in values.items()}
        try:
            _suggested(FixedTrial({name: values.get("low", values.get("choices", [None])[0])}), name, values)
        except (ValueError, TypeError) as error:  # such as low above high
            raise NmtError(f"{path}: space: {name}: {error}") from None
    return given


def _suggested(trial: Trial, name: str, given: dict[str, Any]) -> Any:
    if "choices" in given:
        return trial.suggest_categorical(name, given["choices"])
    low, high, log = given["low"], given["high"], bool(given.get("log"))
    if isinstance(low, int) and isinstance(high, int):
        return trial.suggest_int(name, low, high, step=given.get("step", 1), log=log)
    return trial.suggest_float(name, low, high, step=given.get("step"), log=log)


def _nested(name: str, value: Any) -> dict[str, Any]:
    for part in reversed(name.split(".")):
        value = {part: value}
    return value
