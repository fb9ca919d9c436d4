"""`nmt score`: the log-probability of given translations."""

from __future__ import annotations

import json
import math
from argparse import Namespace
from typing import TYPE_CHECKING

from nmt.cli.files import count_lines, require_files_of_their_own, require_same_length
from nmt.cli.flags import add_model_flags, add_source_flag, add_target_flag
from nmt.cli.loading import lines_of, load_models, say, watched
from nmt.cli.parser import Parser
from nmt.files.outputs import open_output
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.translation.result import Translation

DESCRIPTION = (
    "Prints the log-probability (in nats) of each pair, a tab, and its number of target pieces, including the end of "
    "sentence. It also reports the perplexity of all pairs."
)


def add_flags(parser: Parser) -> None:
    add_model_flags(parser)
    add_source_flag(parser)
    add_target_flag(parser)
    parser.add_argument("--output", metavar="FILE", default="-", help="file for the scores (default: standard output)")
    parser.add_argument(
        "--format",
        choices=["tsv", "jsonl"],
        default="tsv",
        help="format of the scores; jsonl adds the log-probability of each piece (default: tsv)",
    )


def run(arguments: Namespace) -> None:
    """Writes the score of each pair, and reports the perplexity of all pairs."""
    require_files_of_their_own([arguments.source, arguments.target], [arguments.output])
    total = require_same_length({path: count_lines(path) for path in (arguments.source, arguments.target)})
    log_probability, pieces, words, blank = 0.0, 0, 0, 0
    with open_output(arguments.output) as output:
        translator = load_models(arguments)
        progress = lines_of(total)
        pairs = translator.align(read_lines(arguments.source), read_lines(arguments.target))
        for pair in watched(pairs, progress):
            output.write(_score_line(progress.count, pair, arguments.format) + "\n")
            log_probability, pieces = log_probability + pair.log_probability, pieces + len(pair.pieces)
            words += len(pair.alignment.target) if pair.pieces else 0
            blank += not (pair.source.strip() and pair.text.strip())
    if pieces:
        say(
            f"log-probability {log_probability:.2f} in {pieces} pieces and {words} words: perplexity "
            f"{_perplexity(log_probability / pieces):.3f} per piece, "
            f"{_perplexity(log_probability / max(words, 1)):.2f} per word (the end of sentence counts as a piece)"
        )
    if blank:
        say(f"pairs with a side without words: {blank}; their 0.0000 is no log-probability")
    place = "standard output" if arguments.output == "-" else arguments.output
    say(f"{progress.count} pairs in {progress.seconds:.1f} s ({progress.speed}), written to {place}")


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
