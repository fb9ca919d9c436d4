"""`nmt curves`: the learning curves of several runs in one drawing."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from nmt.cli.flags import refuse_file
from nmt.cli.loading import say
from nmt.cli.parser import Parser
from nmt.errors import NmtError

DESCRIPTION = (
    "Draws validation loss and BLEU of several runs against updates and against time. It reads the history.csv of each "
    "run, also while the run is training. It prints a table with the best values of each run, and writes the table, "
    "the points and the drawing: table.md, points.csv and curves.png."
)
EXAMPLE = "nmt curves --runs saved_models/one saved_models/two"
DEFAULT_OUTPUT = "saved_models/learning-curves"


def add_flags(parser: Parser) -> None:
    parser.add_argument("--runs", nargs="+", required=True, metavar="DIR", help="run directories written by nmt train")
    parser.add_argument(
        "--names", nargs="+", metavar="TEXT", help="names of the runs in the drawing (default: their directories)"
    )
    parser.add_argument(
        "--output", default=DEFAULT_OUTPUT, metavar="DIR", help=f"directory to write into (default: {DEFAULT_OUTPUT})"
    )


def run(arguments: Namespace) -> None:
    """Pairs the runs with their names, then draws them."""
    from nmt.training.curves import COLOURS, write_curves

    runs = [Path(path) for path in arguments.runs]
    names = arguments.names or [path.name for path in runs]
    if len(set(names)) != len(names) or len(names) != len(runs):
        raise NmtError("--names: expected one name per run, all of them different")
    if len(runs) > len(COLOURS):
        raise NmtError(f"--runs takes at most {len(COLOURS)}: more curves look alike")
    refuse_file(arguments.output)
    print(write_curves(dict(zip(names, runs, strict=True)), Path(arguments.output)))
    say(f"results: {arguments.output}/table.md, points.csv, curves.png")
