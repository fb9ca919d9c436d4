"""`nmt sweep`: a search for hyper-parameters within a budget."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from nmt.cli.flags import refuse_file
from nmt.cli.loading import say
from nmt.cli.parser import Parser, count, finite, positive
from nmt.errors import NmtError, install_command

DESCRIPTION = (
    "Searches for hyper-parameters within a budget, with optuna. A YAML file names the fields that vary, and their "
    "ranges. Each trial is an nmt train. A trial ends early when it is worse than the median of the others at the same "
    "validation. All choices use the validation pairs only. The results are kept: after an interruption, repeat the "
    "command to continue; a larger budget continues a finished search. The command writes trials.csv, trials.png and "
    "best.yaml, which nmt train --config reads."
)
EXAMPLE = "nmt sweep --space data/demo/space.yaml --output saved_models/search --hours 8"


def add_flags(parser: Parser) -> None:
    parser.add_argument("--space", required=True, metavar="FILE", help="YAML file with the fields that vary")
    parser.add_argument("--output", required=True, metavar="DIR", help="directory to write into, or to continue in")
    parser.add_argument("--trials", type=positive, metavar="N", help="trials in all, earlier calls included")
    parser.add_argument("--hours", type=finite, metavar="X", help="no trial of this call starts after this time")
    parser.add_argument(
        "--jobs", type=positive, default=1, metavar="N", help="trials at once, sharing the cores (default: 1)"
    )
    parser.add_argument("--seed", type=count, default=1, metavar="N", help="seed of the search (default: 1)")


def run(arguments: Namespace) -> None:
    """Checks the budget and optuna, then searches."""
    if arguments.trials is None and arguments.hours is None:
        raise NmtError("give a budget: --trials, --hours, or both")
    refuse_file(arguments.output)
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise NmtError(f"nmt sweep needs optuna: {install_command('search')}") from None
    from nmt.training.sweep.study import Budget, sweep

    budget = Budget(arguments.trials, arguments.hours)
    try:
        sweep(Path(arguments.space), Path(arguments.output), budget, arguments.jobs, arguments.seed)
    except KeyboardInterrupt:
        say("repeat the command to continue the search")
        raise
