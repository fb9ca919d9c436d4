"""`nmt explain`: the unusual pairs of a corpus, and the reason for each."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.cli.files import count_lines, require_files_of_their_own, require_same_length
from nmt.cli.flags import add_model_flags, add_search_flags, refuse_file, refuse_search_flags
from nmt.cli.loading import lines_of, load, say, say_if_cut, watched
from nmt.cli.parser import Parser, count
from nmt.files.paths import output_directory
from nmt.progress import LineProgress
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.explaining.erasure import Erasure
    from nmt.translation.translator import Translation

DESCRIPTION = (
    "Writes into a directory sentences.tsv (all pairs, the most unusual first: line, score, measures, what "
    "is wrong in words), explanation.jsonl (attention and measures of each pair, in the order of the input), "
    "explanation.html and a plot of each of the worst, and prints these and the corpus's means. With --target the "
    "pairs given; without, the model's own translations. With --erase, what each target word loses in "
    "log-probability when a source word is erased, and how far attention agrees with that."
)


def add_flags(parser: Parser) -> None:
    add_model_flags(parser)
    parser.add_argument("--source", required=True, metavar="FILE", help="source sentences, one a line")
    parser.add_argument("--target", metavar="FILE", help="their translations, line by line (default: the model's own)")
    parser.add_argument("--output", required=True, metavar="DIR", help="directory to write into")
    parser.add_argument(
        "--erase",
        nargs="?",
        choices=["word", "attention"],
        const="word",
        help="erase one source word at a time, from the sentence (word, the default) or from the decoder's sight only "
        "(attention); costs a forward pass for each source word",
    )
    parser.add_argument(
        "--worst", type=count, default=10, metavar="N", help="pairs that are printed and plotted (default: 10)"
    )
    add_search_flags(parser)


def run(arguments: Namespace) -> None:
    """`nmt explain`: the numbers of every pair, the worst first, and where asked what erasing a source word changes."""
    from nmt.cli.report import RECORDS, TABLE, write_report

    refuse_search_flags(arguments)
    refuse_file(arguments.output)
    read = [path for path in (arguments.source, arguments.target) if path]
    require_files_of_their_own(read, [str(Path(arguments.output) / name) for name in (RECORDS, TABLE)])
    total = require_same_length({path: count_lines(path) for path in read})
    translator, search = load(arguments)
    source = read_lines(arguments.source)
    pairs = translator.align(source, read_lines(arguments.target)) if arguments.target else None
    pairs = pairs or translator.translate(source, search)
    if arguments.erase:
        from nmt.explaining.erasure import PAIRS_TOGETHER, erase

        progress = LineProgress(total, window=PAIRS_TOGETHER)
        explained = _erased(erase(translator, pairs, arguments.erase, search.max_source), progress)
    else:
        progress = lines_of(total)
        explained = ((pair, None) for pair in watched(pairs, progress))
    with output_directory(Path(arguments.output)) as directory:
        write_report(explained, directory, arguments.worst)
    say(f"{progress.count} pairs in {progress.seconds:.1f} s, written to {directory}")


def _erased(
    pairs: Iterable[tuple[Translation, Erasure]], progress: LineProgress
) -> Iterator[tuple[Translation, Erasure | None]]:
    for pair, erasure in progress.over(pairs):
        say_if_cut(pair, progress)
        yield pair, erasure
