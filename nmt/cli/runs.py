"""`nmt runs`: a table of the runs in a directory."""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.cli.info import file_size, languages
from nmt.cli.loading import say
from nmt.cli.parser import Parser
from nmt.config import RunConfig
from nmt.errors import NmtError

if TYPE_CHECKING:
    from nmt.training.run_summary import RunSummary

DESCRIPTION = (
    "Prints a table of the runs and packs (*.nmt) in a directory and below it: languages, network, parameters, steps, "
    "best BLEU and loss on the validation pairs of each run, progress, last change and size. BLEU of two runs can be "
    "compared only if their validation pairs are the same. nmt info describes one run."
)
EXAMPLE = "nmt runs saved_models"

HEADER = ("run", "languages", "network", "parameters", "steps", "BLEU", "loss", "training", "changed", "size")


def add_flags(parser: Parser) -> None:
    default = RunConfig().directory
    parser.add_argument(
        "directory", nargs="?", default=default, metavar="DIR", help=f"directory of runs (default: {default})"
    )


def run(arguments: Namespace) -> None:
    """Prints a line for each run; a directory that is damaged is named on standard error."""
    from nmt.training.run_summary import RunSummary, find_runs

    root = Path(arguments.directory)
    if not root.is_dir():
        problem = "is a file, not a directory of runs" if root.exists() else "no such directory"
        raise NmtError(f"{root}: {problem}; nmt train makes {RunConfig().directory}")
    rows: list[tuple[str, ...]] = [HEADER]
    for directory in find_runs(root, say):
        try:
            rows.append(_row(str(directory.relative_to(root)), RunSummary.of(directory)))
        except NmtError as error:
            say(str(error))
        except OSError as error:
            say(f"{directory}: {error.strerror}")
    if len(rows) == 1:
        say(f"{root}: no runs; nmt train makes one")
        return
    _print_table(rows)


def _row(name: str, summary: RunSummary) -> tuple[str, ...]:
    return (
        name,
        languages(summary) or "-",
        summary.run.config.model.architecture,
        "-" if summary.parameters is None else f"{summary.parameters:,}",
        "-" if summary.state is None else str(summary.state.step),
        "-" if summary.best_bleu is None else f"{summary.best_bleu:.2f}",
        "-" if summary.best_loss is None else f"{summary.best_loss:.4f}",
        summary.progress,
        time.strftime("%Y-%m-%d", time.localtime(summary.changed)),
        file_size(summary.size),
    )


def _print_table(rows: list[tuple[str, ...]]) -> None:
    """Prints columns as wide as their longest cell; numbers stand at the right of theirs."""
    numbers = {"parameters", "steps", "BLEU", "loss", "size"}
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(HEADER, row, widths, strict=True)
        aligned = (f"{cell:>{width}}" if name in numbers else f"{cell:<{width}}" for name, cell, width in cells)
        print("  ".join(aligned).rstrip())
