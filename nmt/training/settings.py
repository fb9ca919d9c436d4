"""Settings that depend on the text or on another run: recipe auto and training.initial."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nmt.config import CorpusConfig, RunConfig, network_settings, recipes
from nmt.config.reading import load_fields, merge_fields, parse_fields
from nmt.config.recipes import BESIDE, PAIRS
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.text.errors import CorpusError
from nmt.text.pairs import PairReader


def choose_recipe(corpus: CorpusConfig) -> tuple[str, str]:
    """The recipe for as many training pairs as the corpus has, by the nearest in ratio, and why it is that, with what
    else there is for as many, in one line.

    Raises:
        CorpusError: the pairs cannot be read.
    """
    pairs = sum(1 for _ in PairReader(corpus.train, corpus))
    if not pairs:
        raise CorpusError("there are no sentence pairs to train on: the text is empty")
    if not corpus.validation and pairs > corpus.held_out:
        pairs -= corpus.held_out
    name = min(PAIRS, key=lambda name: abs(math.log(max(pairs, 1) / PAIRS[name])))
    reason = f"recipe {name}: there are {pairs:,} pairs to train on, and it is made for about {PAIRS[name]:,}"
    return name, "; ".join([reason, BESIDE[name]] if name in BESIDE else [reason])


def load_config(
    path: str | Path | None = None,
    overrides: Sequence[str] = (),
    recipe: str = "",
    say: Callable[[str], None] = lambda line: None,
) -> RunConfig:
    """The configuration in a YAML or JSON file, with the flags of `nmt train` over it: `["--model.units", "512"]`.

    Where training begins with the weights of another run (`training.initial`), that run's network, dropout aside, is
    what file and flags go over.

    Args:
        path: the file, which may be the config.json of a run; None: none.
        overrides: flags.
        recipe: a recipe that comes with nmt, which the file goes over; "auto" is the one for as many pairs as the
            corpus has; "": none, the defaults.
        say: takes a line on what "auto" chose and why.

    Raises:
        ConfigError: a file that is not there or not a configuration, an unknown field, or a value of the wrong kind.
        CorpusError: for "auto", pairs that cannot be read.
    """
    given = [flag for flag in overrides if not flag.startswith("--print_config")]  # it prints what is found here
    over = {} if path is None else load_fields(path)  # once: it may be a pipe
    if recipe == "auto":
        recipe, reason = choose_recipe(parse_fields(over, path, given).corpus)
        say(reason)
    under = load_fields(recipes.path(recipe)) if recipe else {}
    config = parse_fields(merge_fields(under, over), path, given)
    if config.training.initial:
        under = merge_fields(under, {"model": _network_of(config.training.initial)})
    elif len(given) == len(overrides):
        return config
    return parse_fields(merge_fields(under, over), path, overrides)


def _network_of(initial: str) -> dict[str, Any]:
    """The fields of a run's network; none where there is no run, which preparation says if it needs one."""
    try:
        return network_settings(Run.open(initial).config)
    except NmtError:
        return {}
