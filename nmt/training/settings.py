"""The configuration of a training, from a file, a recipe and flags.

Recipe `auto` depends on the text, and `training.initial` on another run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nmt.config import RunConfig, network_settings, recipes
from nmt.config.flags import parse_flags
from nmt.config.reading import build_config, merge_fields
from nmt.config.yaml_files import load_fields
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.training.auto_recipe import fit_to_text


def load_config(
    path: str | Path | None = None,
    overrides: Sequence[str] = (),
    recipe: str = "",
    say: Callable[[str], None] = lambda line: None,
) -> RunConfig:
    """The configuration in a YAML or JSON file, with flags of `nmt train` over it: `["--model.units", "512"]`.

    If training starts from the weights of another run (`training.initial`), that run's network, without its dropout,
    lies below the file and the flags.

    Args:
        path: the file, which may be the config.json of a run; None: no file.
        overrides: flags.
        recipe: a recipe that comes with nmt and lies below the file; "auto" chooses one and fits it to
            the text; "": the defaults.
        say: receives lines on what "auto" chose, and why.

    Raises:
        ConfigError: a file that cannot be read, an unknown field, or a refused value.
        CorpusError: for "auto", pairs that cannot be read, or too few.
    """
    return resolve_config(path, parse_flags(RunConfig, overrides, "nmt train"), recipe, say)


def resolve_config(
    path: str | Path | None, flags: dict[str, Any], recipe: str, say: Callable[[str], None]
) -> RunConfig:
    """As `load_config`, with the fields that flags give as nested dictionaries."""
    over = {} if path is None else load_fields(path)  # once: it may be a pipe
    if recipe == "auto":
        under = _auto_fields(merge_fields(over, flags), build_config(over, path, flags), say)
    else:
        under = load_fields(recipes.path(recipe)) if recipe else {}
    config = build_config(merge_fields(under, over), path, flags)
    if not config.training.initial:
        return config
    under = merge_fields(under, {"model": _network_of(config.training.initial)})
    return build_config(merge_fields(under, over), path, flags)


def _auto_fields(given: dict[str, Any], config: RunConfig, say: Callable[[str], None]) -> dict[str, Any]:
    """The settings that lie below the given ones: those of the run, if it has begun, or those that suit the text.

    A text that has changed meanwhile would have other settings, with which the run could not be resumed.
    """
    saved = Path(config.directory) / config.name / "config.json"
    if saved.exists():
        say(f"recipe auto: {saved.parent} has begun already and keeps its settings")
        fields = load_fields(saved)
        kept = {name: fields["corpus"][name] for name in ("held_out", "near_duplicates") if name in fields["corpus"]}
        return {"corpus": kept} | {name: fields[name] for name in ("vocabulary", "model", "training", "search")}
    choice = fit_to_text(given, config)
    for line in choice.lines:
        say(line)
    return choice.fields


def _network_of(initial: str) -> dict[str, Any]:
    """The network settings of a run; none if there is no run, which preparation reports when it needs one."""
    try:
        return network_settings(Run.open(initial).config)
    except NmtError:
        return {}
