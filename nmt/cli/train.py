"""`nmt train`: a run from a recipe, a configuration file and flags."""

from __future__ import annotations

from argparse import Namespace

from nmt.cli.loading import say
from nmt.cli.parser import Parser
from nmt.cli.quiet import quiet_start

INTERRUPTED = 128 + 2
"""The exit code of a training that was interrupted."""

DESCRIPTION = "Trains a model into a run directory."


def add_flags(parser: Parser) -> None:
    parser.add_argument("--config")
    parser.add_argument("--recipe", default="")


def run(arguments: Namespace) -> int:
    """Trains, or goes on with a run that was interrupted."""
    from nmt.training.settings import load_config

    config = load_config(arguments.config, arguments.fields, arguments.recipe, say)
    with quiet_start():
        from nmt.training.trainer import train

    result = train(config)
    if not result.finished:
        return INTERRUPTED
    say(f"the run is in {result.directory}; translate with: nmt translate --model {result.directory}")
    return 0
