"""`nmt train`: a run from a recipe, a configuration file and flags."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Collection
from shlex import quote
from typing import Any

from nmt.cli.loading import say
from nmt.cli.out_of_memory import TRAINING_ADDRESS_SPACE
from nmt.cli.parser import Parser
from nmt.cli.quiet import quiet_start
from nmt.config import RunConfig, recipes
from nmt.config.fields import settings_of
from nmt.config.flags import add_groups, nested

INTERRUPTED = 128 + 2
"""The exit code of an interrupted training."""

DESCRIPTION = (
    "Trains a model into a run directory, or continues an interrupted run. Settings come from a recipe, a YAML or JSON "
    "file over the recipe, and flags over both: --model.units 512 means `model: {units: 512}` in the file. Paths in "
    "the file begin at its folder, paths in flags at the working directory. The settings below are the ones that most "
    "people change; --help-all shows all of them."
)
EXAMPLE = "nmt train --recipe auto --name mine --corpus.train.source my.en --corpus.train.target my.de"

COMMON = [
    "name",
    "directory",
    "corpus.train.source",
    "corpus.train.target",
    "corpus.train.tsv",
    "corpus.train.document",
    "corpus.train.tfds",
    "corpus.validation.source",
    "corpus.validation.target",
    "corpus.source_language",
    "corpus.target_language",
    "corpus.held_out",
    "corpus.near_duplicates",
    "vocabulary.run",
    "vocabulary.size",
    "model.architecture",
    "model.units",
    "model.embedding",
    "model.attention.score",
    "model.dropout.embedding",
    "training.initial",
    "training.passes",
    "training.minutes",
    "training.batch_tokens",
    "training.schedule.learning_rate",
    "training.patience",
    "training.aligner",
    "training.recombine",
    "training.precision",
    "training.seed",
    "search.beam_size",
    "search.length_penalty",
]
"""The settings that --help shows."""


ALL = frozenset(setting.name for setting in settings_of(RunConfig))
"""The names of all settings."""


def add_flags(parser: Parser, shown: Collection[str] = COMMON) -> None:
    """Every setting is a flag; the help shows the settings named in `shown`."""
    parser.usage = "nmt train [--recipe NAME] [--config FILE] [--SETTING VALUE ...]"
    parser.add_argument("--config", metavar="FILE", help="YAML or JSON file of settings, or the config.json of a run")
    parser.add_argument(
        "--recipe",
        default="",
        metavar="NAME",
        help=f"settings that come with nmt: {', '.join(recipes.NAMES)}, named after the number of training pairs that "
        "they suit; auto: chosen by the number of pairs and fitted to the text",
    )
    parser.add_argument("--print_config", action="store_true", help="print all settings as YAML and do not train")
    parser.add_argument("--help-all", action=_HelpAll, help="show the help with all settings and exit")
    add_groups(parser, RunConfig)
    for action in parser._actions:
        if action.dest in ALL.difference(shown):
            action.help = argparse.SUPPRESS


class _HelpAll(argparse.Action):
    """Prints the help with all settings."""

    def __init__(self, option_strings: list[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **options)

    def __call__(self, parser: Any, *_: Any) -> None:
        everything = Parser(
            prog=parser.prog, description=DESCRIPTION.partition(" The settings below")[0], epilog=parser.epilog
        )
        add_flags(everything, shown=ALL)
        everything.print_help()
        parser.exit()


def run(arguments: Namespace) -> int:
    """Trains, or prints the settings that would train."""
    from nmt.training.settings import resolve_config

    given = {name: value for name, value in vars(arguments).items() if name in ALL and value is not None}
    if given.get("training.minutes"):
        with quiet_start():
            import nmt.training.trainer  # noqa: F401  the trial of the network needs it
    config = resolve_config(arguments.config, nested(given), arguments.recipe, say)
    if arguments.print_config:
        from nmt.config.yaml_files import as_yaml

        print(as_yaml(config), end="")
        return 0
    with quiet_start(TRAINING_ADDRESS_SPACE):
        from nmt.training.trainer import train

    result = train(config)
    if not result.finished:
        return INTERRUPTED
    say(f"the run is in {result.directory}; translate with: nmt translate --model {quote(str(result.directory))}")
    return 0
