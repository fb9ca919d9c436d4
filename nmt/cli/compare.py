"""`nmt compare`: variants of a configuration, trained and measured side by side."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from nmt.cli.files import count_lines, require_lines, require_same_length
from nmt.cli.flags import refuse_file
from nmt.cli.gold import require_measurable
from nmt.cli.loading import say
from nmt.cli.parser import Parser, positive, refuse_idle
from nmt.cli.quiet import quiet_start
from nmt.errors import NmtError
from nmt.files.paths import can_be_read_again, output_directory
from nmt.text.lines import read_lines

DESCRIPTION = (
    "Trains every variant that a file names, on the same text with the same budget, several seeds of each, "
    "measures them on a test set, and writes a report: BLEU, chrF, AER, speed, memory, BLEU by sentence length, and "
    "the same sentence's attention by all of them. What is measured is kept: the same command goes on after an "
    "interruption, and more seeds or variants train only what is new."
)


def add_flags(parser: Parser) -> None:
    parser.add_argument("--variants", required=True, metavar="FILE", help="YAML file of what is compared")
    parser.add_argument("--output", required=True, metavar="DIR", help="directory to write into, or to go on in")
    parser.add_argument("--seeds", type=positive, metavar="N", help="seeds of each variant (default: as the file says)")
    parser.add_argument(
        "--jobs", type=positive, default=1, metavar="N", help="trainings at once, sharing the cores (default: 1)"
    )
    parser.add_argument(
        "--sentence",
        type=positive,
        default=0,
        metavar="N",
        help="line of the test set whose attention is drawn (default: the first of eight words or more)",
    )
    parser.add_argument("--report-only", action="store_true", help="train nothing: report what is measured so far")


def run(arguments: Namespace) -> None:
    """`nmt compare`: variants of a configuration, trained and measured side by side."""
    from nmt.alignment.pharaoh_and_naacl import read_gold
    from nmt.training.comparison import line_to_draw, read_plan, run_variants, settle_precision, write_report

    directory, failed = Path(arguments.output), []
    if arguments.report_only:
        refuse_idle(arguments, ["jobs"], "is for training: leave it or --report-only out")
    plan = read_plan(Path(arguments.variants), directory, arguments.seeds)
    test = plan.test
    if not can_be_read_again(path for path in (test.source, test.target, test.alignment) if path):
        raise NmtError(f"{arguments.variants}: test: standard input and pipes can be read only once: give files")
    require_same_length({path: count_lines(path) for path in (test.source, test.target, test.alignment) if path})
    sources, references = list(read_lines(test.source)), list(read_lines(test.target))
    require_lines(test.source, sources)
    gold = read_gold(list(read_lines(test.alignment)), test.alignment) if test.alignment else ()
    require_measurable(sources, references, test.tokenize, gold, test.alignment)
    line_to_draw(arguments.sentence, sources)
    if not arguments.report_only:
        refuse_file(arguments.output)
        with output_directory(directory):
            failed = run_variants(settle_precision(plan, directory), directory, arguments.jobs)
    with quiet_start():
        import nmt.translation.translator  # noqa: F401  what draws the attention of every variant
    say(f"the report is {write_report(plan, directory, arguments.sentence)}")
    if failed:
        raise NmtError(f"{len(failed)} of {len(plan.runs)} trainings failed, and the report lacks them: {failed[0]}")
