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
from nmt.training.auto_recipe import choose_recipe


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
        recipe: a recipe that comes with nmt and lies below the file; "auto" chooses the one for the corpus's number of
            pairs; "": the defaults.
        say: receives a line on the recipe that "auto" chose, and why.

    Raises:
        ConfigError: a file that cannot be read, an unknown field, or a refused value.
        CorpusError: for "auto", pairs that cannot be read.
    """
    return resolve_config(path, parse_flags(RunConfig, overrides, "nmt train"), recipe, say)


def resolve_config(
    path: str | Path | None, flags: dict[str, Any], recipe: str, say: Callable[[str], None]
) -> RunConfig:
    """As `load_config`, with the fields that flags give as nested dictionaries."""
    over = {} if path is None else load_fields(path)  # once: it may be a pipe
    if recipe == "auto":
        recipe, reason = choose_recipe(build_config(over, path, flags).corpus)
        say(reason)
    under = load_fields(recipes.path(recipe)) if recipe else {}
    config = build_config(merge_fields(under, over), path, flags)
    if not config.training.initial:
        return config
    under = merge_fields(under, {"model": _network_of(config.training.initial)})
    return build_config(merge_fields(under, over), path, flags)


def _network_of(initial: str) -> dict[str, Any]:
    """The network settings of a run; none if there is no run, which preparation reports when it needs one."""
    try:
        return network_settings(Run.open(initial).config)
    except NmtError:
        return {}
