"""`nmt score`: the log-probability of given translations."""

from __future__ import annotations

import json
import math
from argparse import Namespace
from typing import TYPE_CHECKING

from nmt.cli.files import require_files_of_their_own
from nmt.cli.flags import add_model_flags
from nmt.cli.loading import lines_of, load_models, say, watched
from nmt.cli.pair_files import GivenText, add_pair_flags
from nmt.cli.parser import Parser
from nmt.files.outputs import open_output
from nmt.progress import counted

if TYPE_CHECKING:
    from nmt.translation.result import Translation

DESCRIPTION = (
    "Prints the log-probability (in nats) of each pair, a tab, and its number of target pieces, including the end of "
    "sentence. It also reports the perplexity of all pairs."
)
EXAMPLE = "nmt score --model saved_models/mine --source test.en --target test.de"


def add_flags(parser: Parser) -> None:
    add_model_flags(parser)
    add_pair_flags(parser)
    parser.add_argument("--output", metavar="FILE", default="-", help="file for the scores (default: standard output)")
    parser.add_argument(
        "--format",
        choices=["tsv", "jsonl"],
        default="tsv",
        help="format of the scores; jsonl adds the log-probability of each piece (default: tsv)",
    )


def run(arguments: Namespace) -> None:
    """Writes the score of each pair, and reports the perplexity of all pairs."""
    text = GivenText(arguments)
    require_files_of_their_own(text.paths, [arguments.output])
    total = text.count()
    log_probability, pieces, words, blank = 0.0, 0, 0, 0
    with open_output(arguments.output) as output:
        translator = load_models(arguments)
        progress = lines_of(total)
        for pair in watched(translator.align(*text.checked_sides(translator)), progress):
            output.write(_score_line(progress.count, pair, arguments.format) + "\n")
            log_probability, pieces = log_probability + pair.log_probability, pieces + len(pair.pieces)
            words += len(pair.alignment.target) if pair.pieces else 0
            blank += not (pair.source.strip() and pair.text.strip())
    if pieces:
        size = f"{counted(pieces, 'piece')} and {counted(words, 'word')}"
        say(
            f"log-probability {log_probability:.2f} in {size}: perplexity "
            f"{_perplexity(log_probability / pieces):.3f} per piece, "
            f"{_perplexity(log_probability / max(words, 1)):.2f} per word (the end of sentence counts as a piece)"
        )
    if blank:
        say(f"pairs with a side without words: {blank}; their 0.0000 is no log-probability")
    place = "standard output" if arguments.output == "-" else arguments.output
    say(f"{counted(progress.count, 'pair')} in {progress.seconds:.1f} s ({progress.speed}), written to {place}")


def _perplexity(mean_log_probability: float) -> float:
    """Infinite if it is too large for a float, as for text without spaces, which is one long word."""
    try:
        return math.exp(-mean_log_probability)
    except OverflowError:
        return math.inf


def _score_line(number: int, pair: Translation, form: str) -> str:
    """The line of pair `number` in the output, as TSV or JSON."""
    if form == "tsv":
        return f"{pair.log_probability:.4f}\t{len(pair.pieces)}"
    record = {
        "line": number,
        "log_probability": round(pair.log_probability, 4),
        "pieces": list(pair.pieces),
        "piece_log_probabilities": [round(value, 4) for value in pair.piece_log_probabilities],
    }
    return json.dumps(record, ensure_ascii=False)
