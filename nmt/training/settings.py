"""The configuration of a training, from a file, a recipe and flags.

Recipe `auto` depends on the text, and `training.initial` on another run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nmt.config import ConfigError, RunConfig, config_to_dict, recipes
from nmt.config.flags import parse_flags
from nmt.config.reading import build_config, merge_fields
from nmt.config.yaml_files import load_fields
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.run.prepared_manifest import read_prepared
from nmt.training.auto_recipe import Choice, fit_to_prepared, fit_to_text, links_for_new_pairs
from nmt.training.distribution.cluster import read_cluster
from nmt.training.inherited_settings import settings_for_fine_tuning
from nmt.training.preparation.prepared_corpus import prepared_fields, require_prepared_settings


def load_config(
    path: str | Path | None = None,
    overrides: Sequence[str] = (),
    recipe: str = "",
    say: Callable[[str], None] = lambda line: None,
) -> RunConfig:
    """The configuration in a YAML or JSON file, with flags of `nmt train` over it: `["--model.units", "512"]`.

    If training starts from the weights of another run (`training.initial`), that run's settings lie below the file and
    the flags, as `settings_for_fine_tuning` fits them to the text; a recipe's training and dropout lie between.

    Args:
        path: the file, which may be the config.json of a run; None: no file.
        overrides: flags.
        recipe: a recipe that comes with nmt and lies below the file; "auto" chooses one and fits it to
            the text; "": the defaults.
        say: receives lines on what "auto" chose, and why.

    Raises:
        ConfigError: a file that cannot be read, an unknown field, or a refused value.
        CorpusError: for "auto", pairs that cannot be read, or too few.

    Example:
        >>> config = nmt.load_config("data/demo/config.yaml", ["--model.units", "128"])
        >>> config.model.units, config.vocabulary.size
        (128, 4000)
    """
    return resolve_config(path, parse_flags(RunConfig, overrides, "nmt train"), recipe, say)


def resolve_config(
    path: str | Path | None, flags: dict[str, Any], recipe: str, say: Callable[[str], None]
) -> RunConfig:
    """As `load_config`, with the fields that flags give as nested dictionaries."""
    over = {} if path is None else load_fields(path)  # once: it may be a pipe
    given = merge_fields(over, flags)

    def build(fields: dict[str, Any]) -> RunConfig:
        return build_config(merge_fields(fields, over), path, flags)

    named = "" if recipe == "auto" else recipe
    fields = load_fields(recipes.path(named)) if named else {}
    runs = build_config(_fields_of_runs(over), path, _fields_of_runs(flags))
    initial = _initial_run(runs)
    begun = Path(runs.directory) / runs.name / "config.json"
    _require_useful_minutes(given, flags, recipe, runs, bool(initial), begun.exists())
    if runs.vocabulary.run and not begun.exists():
        _say_idle_vocabulary(given["vocabulary"], runs.vocabulary.run, say)
    if (recipe == "auto" or runs.training.initial) and begun.exists():
        fields = _fields_of_begun_run(begun, say)
    elif initial:
        fields = _said(settings_for_fine_tuning(given, initial, named, build), say)
    elif recipe == "auto" and runs.corpus.prepared:
        fields = _said(fit_to_prepared(given, read_prepared(Path(runs.corpus.prepared))), say)
    elif recipe == "auto":
        fields = _said(fit_to_text(given, _over_a_recipe(build, given)), say)
    if runs.corpus.prepared:
        fields = merge_fields(fields, prepared_fields(runs.corpus.prepared))
    config = build(fields)
    if runs.corpus.prepared:
        require_prepared_settings(config)
    return config


def _require_useful_minutes(
    given: dict[str, Any], flags: dict[str, Any], recipe: str, runs: RunConfig, tuned: bool, begun: bool
) -> None:
    """Refuses `training.minutes` where nothing depends on it. The config.json of a run names the epochs beside it.

    Raises:
        ConfigError: says where the setting has an effect.
    """
    training = given.get("training", {})
    if not training.get("minutes"):
        return
    if tuned:
        raise ConfigError("training.minutes is for a new network: give --training.passes for a fine-tuning instead")
    if recipe != "auto" and ("minutes" in flags.get("training", {}) or "passes" not in training):
        raise ConfigError("training.minutes is for recipe auto, which chooses the epochs: give --recipe auto too")
    if recipe != "auto" or begun:
        return
    if runs.corpus.prepared:
        raise ConfigError("training.minutes times a training from text: give --training.passes instead")
    if "passes" in training:
        raise ConfigError("training.minutes chooses training.passes: leave one of them out")
    if training.get("devices", 0) > 1 or read_cluster().several:
        raise ConfigError("training.minutes times one device: give --training.passes for several devices or machines")


def _say_idle_vocabulary(given: dict[str, Any], run: str, say: Callable[[str], None]) -> None:
    """Names the settings of the vocabulary that have no effect beside `vocabulary.run`."""
    try:
        saved = config_to_dict(Run.open(run).config.vocabulary)
    except NmtError:  # preparation reports it
        return
    idle = [f"vocabulary.{name}" for name in given if name not in ("run", "shared") and given[name] != saved[name]]
    if idle:
        say(f"{' and '.join(idle)} without effect: the vocabularies of {run} are taken as they are")


def _fields_of_runs(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that name runs. What lies below the other fields depends on these, so they are checked first."""
    runs: dict[str, Any] = {name: fields[name] for name in ("name", "directory") if name in fields}
    for group, name in (("training", "initial"), ("vocabulary", "run"), ("corpus", "prepared")):
        if name in fields.get(group, {}):
            runs[group] = {name: fields[group][name]}
    return runs


def _over_a_recipe(build: Callable[[dict[str, Any]], RunConfig], given: dict[str, Any]) -> RunConfig:
    """The configuration over the first recipe that allows it, so that mistakes are found before the text is read.

    Raises:
        ConfigError: no recipe that "auto" chooses from allows the user's settings.
    """
    links = {"training": links_for_new_pairs(given.get("training", {}))}
    for name in recipes.SIZES:
        try:
            return build(merge_fields(load_fields(recipes.path(name)), links))
        except ConfigError as error:
            refused = error
    raise refused


def _said(choice: Choice, say: Callable[[str], None]) -> dict[str, Any]:
    """The fields of a choice, whose lines are said."""
    for line in choice.lines:
        say(line)
    return choice.fields


def _fields_of_begun_run(config_file: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """The settings of a run that is resumed.

    A text that has changed since would have other settings, with which the run could not be resumed.
    """
    say(f"{config_file.parent} has begun already, so nothing is chosen anew")
    fields = load_fields(config_file)
    corpus = fields.get("corpus", {})
    kept = {name: corpus[name] for name in ("held_out", "near_duplicates") if name in corpus}
    return {"corpus": kept} | {name: fields.get(name, {}) for name in ("vocabulary", "model", "training", "search")}


def _initial_run(config: RunConfig) -> Run | None:
    """The run that training begins with; None if there is no such run, which preparation reports when it needs one."""
    try:
        return Run.open(config.training.initial) if config.training.initial else None
    except NmtError:
        return None
