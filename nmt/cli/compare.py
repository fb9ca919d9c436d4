"""`nmt compare`: variants of a configuration, trained and measured side by side."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.cli.files import count_lines, require_lines, require_same_length
from nmt.cli.flags import refuse_file
from nmt.cli.gold import require_measurable
from nmt.cli.loading import say
from nmt.cli.parser import Parser, positive, refuse_idle
from nmt.cli.quiet import quiet_start
from nmt.errors import NmtError
from nmt.files.paths import can_be_read_again, output_directory
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.training.comparison.plan import TestSet

DESCRIPTION = (
    "Trains variants of a configuration on the same text, with the same budget and several seeds each, and measures "
    "them on a test set. The report has BLEU, chrF, AER, speed, memory, BLEU by sentence length, and the attention of "
    "every variant on one sentence. All results are kept: repeat the command to continue after an interruption, or to "
    "train only new seeds and variants."
)
EXAMPLE = "nmt compare --variants data/demo/variants.yaml --output saved_models/compare-demo"


def add_flags(parser: Parser) -> None:
    parser.add_argument(
        "--variants", required=True, metavar="FILE", help="YAML file with the variants and the test set"
    )
    parser.add_argument(
        "--output",
        required=True,
        metavar="DIR",
        help="directory for the results; continues an earlier comparison",
    )
    parser.add_argument("--seeds", type=positive, metavar="N", help="seeds per variant (default: given in the file)")
    parser.add_argument(
        "--jobs",
        type=positive,
        default=1,
        metavar="N",
        help="trainings at once, sharing the cores (default: 1)",
    )
    parser.add_argument(
        "--sentence",
        type=positive,
        default=0,
        metavar="N",
        help="line of the test set whose attention is drawn (default: the first with at least eight words)",
    )
    parser.add_argument("--report-only", action="store_true", help="train nothing; report the existing results")


def run(arguments: Namespace) -> None:
    """Checks the files, trains the missing variants, then writes the report."""
    from nmt.training.comparison import line_to_draw, read_plan, run_variants, settle_precision, write_report
    from nmt.translation.loading import import_keras

    directory, failed = Path(arguments.output), []
    if arguments.report_only:
        refuse_idle(arguments, ["jobs"], "is for training: leave out --jobs or --report-only")
    plan = read_plan(Path(arguments.variants), directory, arguments.seeds)
    line_to_draw(arguments.sentence, _test_sources(plan.test, arguments.variants))
    if not arguments.report_only:
        refuse_file(arguments.output)
        with output_directory(directory):
            try:
                failed = run_variants(settle_precision(plan, directory), directory, arguments.jobs)
            except KeyboardInterrupt:
                say("repeat the command to continue the comparison")
                raise
    with quiet_start():
        import_keras()  # loaded quietly here; the report draws attention with it
    say(f"the report is {write_report(plan, directory, arguments.sentence)}")
    if failed:
        raise NmtError(f"{len(failed)} of {len(plan.runs)} trainings failed, and the report lacks them: {failed[0]}")


def _test_sources(test: TestSet, variants: str) -> list[str]:
    """The source sentences of the test set, after checks that its files fit together and can be measured by."""
    from nmt.alignment.pharaoh_and_naacl import read_gold
    from nmt.text.languages import words_of

    paths = [path for path in (*test.files, test.alignment) if path]
    if not can_be_read_again(paths):
        raise NmtError(f"{variants}: test: standard input and pipes can be read only once: name files")
    require_same_length({path: count_lines(path) for path in paths})
    sources, references = test.sides
    require_lines(test.files[0], sources)
    gold = read_gold(list(read_lines(test.alignment)), test.alignment) if test.alignment else ()
    require_measurable(sources, references, test.tokenizer, gold, test.alignment, words_of(test.languages))
    return sources
