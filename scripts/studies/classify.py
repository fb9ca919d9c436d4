"""Classifies sentences by two distant words: a BiLSTM, and attention that pools its outputs.

    python scripts/studies/classify.py --output saved_models/classify

The sentences come from the demo grammar. The label says whether the first and the last determiner agree in being "the".
The four cases are equally frequent, so a single one of the two words tells nothing. The script compares attention with
a softmax, attention with a sigmoid, average pooling and max pooling over the same BiLSTM, bags of words, and the
majority class. It writes table.md, results.json and attention.png into OUTPUT.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.running import run_script
from nmt import NmtError
from nmt.cli.parser import Parser, positive
from nmt.cli.quiet import quiet_start
from studies.classification import MODELS


def parse() -> argparse.Namespace:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("saved_models/classify"), help="folder (%(default)s)")
    parser.add_argument(
        "--train",
        nargs="+",
        type=positive,
        default=[1000, 4000],
        metavar="N",
        help="sizes of the training set, multiples of 4 (%(default)s)",
    )
    parser.add_argument("--test", type=positive, default=1000, help="test sentences, a multiple of 4 (%(default)s)")
    parser.add_argument("--distance", type=positive, default=5, help="smallest distance of the two words (%(default)s)")
    parser.add_argument("--units", type=positive, default=64, help="width of all layers, even (%(default)s)")
    parser.add_argument(
        "--updates", type=positive, default=250, help="smallest number of updates per model (%(default)s)"
    )
    parser.add_argument("--seeds", type=positive, default=3, help="trainings per model (%(default)s)")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, metavar="NAME", help=", ".join(MODELS))
    return parser.parse_args()


def check(options: argparse.Namespace) -> None:
    """Raises an NmtError that names an impossible option."""
    for size in (*options.train, options.test):
        if size % 4:
            raise NmtError(f"{size} sentences: expected a multiple of 4, because there are four equally frequent cases")
    if options.units % 2:
        raise NmtError(f"--units {options.units}: expected an even number, half for each direction of the BiLSTM")


def main() -> None:
    """Runs the command line."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    options = parse()
    check(options)
    with quiet_start():
        from studies.classification import experiment
    experiment.run(options)


if __name__ == "__main__":
    sys.exit(run_script(main))
