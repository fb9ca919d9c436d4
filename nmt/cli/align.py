"""`nmt align`: word alignments as numbers and plots."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.cli.files import count_lines, outdated_drawings, require_files_of_their_own, require_same_length
from nmt.cli.flags import add_model_flags, add_search_flags, refuse_file, refuse_search_flags
from nmt.cli.gold import add_gold_format_flags, print_alignment_score, read_gold_flags
from nmt.cli.loading import lines_of, load, load_run, say, say_if_cut
from nmt.cli.parser import Parser, as_flags, count, positive, refuse_idle
from nmt.config import SearchConfig
from nmt.errors import NmtError
from nmt.files.outputs import open_output
from nmt.files.paths import output_directory, real_path
from nmt.progress import LineProgress
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.alignment.hard_links import Linking
    from nmt.alignment.links import Gold, Links
    from nmt.drawing import Picture
    from nmt.translation.translator import Translation, Translator

ALIGNMENTS = ("alignments.pharaoh", "alignments.jsonl")
"""What `nmt align` writes of all pairs, beside its drawings: links and all numbers."""

DESCRIPTION = (
    "Writes into a directory, for each sentence pair: alignments.pharaoh (links between words, counted from "
    "0), alignments.jsonl (words, attention weights, links, log-probability) and, of the first pairs, drawings: "
    "alignments.html, a page for a browser where pointing at a word shows what it comes from; heat maps named after "
    "the line, 0001.png and so on; or alignments.pdf, as many heat maps on an A2 page as fit. --gold is drawn too. "
    "With --target, the attention while that translation is forced; without, that of the model's own."
)


def add_flags(parser: Parser) -> None:
    add_model_flags(parser)
    parser.add_argument("--source", required=True, metavar="FILE", help="source sentences, one a line")
    parser.add_argument("--target", metavar="FILE", help="their translations, line by line (default: the model's own)")
    parser.add_argument("--output", required=True, metavar="DIR", help="directory to write into")
    parser.add_argument(
        "--format",
        choices=["html", "png", "svg", "pdf"],
        nargs="+",
        default=["html", "png"],
        help="of the drawings: html and pdf are one file, png and svg a file a pair (default: html png)",
    )
    parser.add_argument("--limit", type=count, default=20, metavar="N", help="most pairs drawn (default: 20)")
    parser.add_argument(
        "--nbest",
        type=positive,
        default=1,
        metavar="N",
        help="the page shows the N best translations side by side (default: 1)",
    )
    parser.add_argument(
        "--reverse", metavar="DIR", help="run of the opposite direction: links are made from those of both"
    )
    parser.add_argument(
        "--symmetrize",
        choices=["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"],
        help="how, with --reverse (default: grow-diag-final-and)",
    )
    _add_linking(parser)
    parser.add_argument("--gold", metavar="FILE", help="gold alignment of the pairs (needs --target): prints the AER")
    add_gold_format_flags(parser)
    add_search_flags(parser)


def _add_linking(parser: Parser) -> None:
    parser.add_argument(
        "--links",
        choices=["share", "shares", "argmax", "threshold"],
        default="share",
        help="which links a word gets: share, to the word of whose whole attention it has the largest share; shares, "
        "also to each that it has a share of --threshold of; argmax, to the word that it attends to most; threshold, "
        "to each that has --threshold of its attention (default: share)",
    )
    parser.add_argument(
        "--threshold", type=float, metavar="X", help="least share, with --links shares or threshold (default: 0.4)"
    )
    parser.add_argument(
        "--links-of",
        choices=["target", "source"],
        default="target",
        help="whose words look for links (default: target)",
    )
    parser.add_argument(
        "--attention",
        choices=["emit", "read"],
        default="emit",
        help="whose attention is a target piece's: the step's that emits it or the next one's, which reads it in "
        "(default: emit)",
    )


def run(arguments: Namespace) -> None:
    """`nmt align`: Pharaoh links, all numbers as JSON, and drawings of the first pairs."""
    if arguments.gold and not arguments.target:
        raise NmtError("--gold is an alignment of sentence pairs: give their --target too")
    refuse_search_flags(arguments)
    refuse_file(arguments.output)
    if not arguments.reverse:
        why = "makes one alignment of two: give --reverse, the run of the opposite direction"
        refuse_idle(arguments, ["symmetrize"], why)
    if "html" not in arguments.format:
        refuse_idle(arguments, ["nbest"], "is what the page shows: add html to --format")
    if arguments.nbest > 1 and (arguments.target or arguments.reverse):
        raise NmtError("--nbest is for a search of one model: leave out --target and --reverse")
    linking = _linking(arguments)
    read = [path for path in (arguments.source, arguments.target, arguments.gold) if path]
    require_files_of_their_own(read, [str(Path(arguments.output) / name) for name in ALIGNMENTS])
    total = require_same_length({path: count_lines(path) for path in (arguments.source, arguments.target) if path})
    gold = read_gold_flags(arguments, total)
    if arguments.reverse and real_path(Path(arguments.reverse)) in (
        real_path(Path(model)) for model in arguments.model
    ):
        raise NmtError("--reverse is the run that --model names: expected one of the opposite direction")
    translator, search = load(arguments)
    how = {"checkpoints": arguments.checkpoints, "precision": arguments.precision}
    reverse = load_run(arguments.reverse, **how) if arguments.reverse else None
    progress = lines_of(total)
    found = _pairs(arguments, translator, reverse, search, linking)
    with output_directory(Path(arguments.output)) as directory:
        links = _export(progress.over(found), directory, arguments, gold, progress)
    if gold is not None:
        print_alignment_score(links, gold)
    say(f"{progress.count} pairs in {progress.seconds:.1f} s, written to {directory}")


def _pairs(
    arguments: Namespace, translator: Translator, reverse: Translator | None, search: SearchConfig, linking: Linking
) -> Iterator[list[Translation]]:
    """For each line the given pair, or the model's translations, best first."""
    source = read_lines(arguments.source)
    if not arguments.target and reverse is None:
        yield from translator.translate_nbest(source, search, arguments.nbest, linking=linking)
        return
    pairs = translator.align(source, read_lines(arguments.target), linking) if arguments.target else None
    pairs = pairs or translator.translate(source, search, linking=linking)
    if reverse is not None:
        from nmt.translation.translator import symmetrized

        pairs = symmetrized(pairs, reverse, arguments.symmetrize or "grow-diag-final-and", linking)
    for pair in pairs:
        yield [pair]


def _linking(arguments: Namespace) -> Linking:
    from nmt.alignment.hard_links import Linking

    if arguments.links not in ("shares", "threshold"):
        refuse_idle(arguments, ["threshold"], "is for --links shares and threshold")
    given = {} if arguments.threshold is None else {"threshold": arguments.threshold}
    with as_flags(Linking):
        return Linking(arguments.links, arguments.links_of, step=arguments.attention, **given)


def _export(
    pairs: Iterator[list[Translation]],
    directory: Path,
    arguments: Namespace,
    gold: Sequence[Gold] | None,
    progress: LineProgress,
) -> list[Links]:
    """Writes the numbers of all pairs, then draws the first that have words on both sides.

    Returns:
        The links of all pairs, where there is a gold alignment to measure them by.
    """
    from nmt.alignment.links import require_in_range
    from nmt.drawing import MOST_WORDS, Picture, drawable

    kept: list[Links] = []
    number = 0
    drawn: dict[int, tuple[list[Translation], Picture]] = {}
    with outdated_drawings(directory, "alignments"), ExitStack() as files:
        links, numbers = (files.enter_context(open_output(str(directory / name))) for name in ALIGNMENTS)
        for number, found in enumerate(pairs, start=1):
            pair = found[0]
            say_if_cut(pair, progress)
            links.write(pair.alignment.pharaoh() + "\n")
            record = {"line": number, "log_probability": pair.log_probability} | pair.alignment.to_json()
            numbers.write(json.dumps(record, ensure_ascii=False) + "\n")
            gold_links = gold[number - 1] if gold is not None and number <= len(gold) else None
            if gold_links is not None:
                where = f"{arguments.gold}, sentence {number}"
                require_in_range(gold_links, pair.alignment.source, pair.alignment.target, where)
                kept.append(pair.alignment.links)
            if len(drawn) == arguments.limit:
                continue
            if drawable(pair.alignment):
                title = f"line {number}, log-probability {pair.log_probability:.2f}"
                drawn[number] = found, Picture(pair.alignment, title, gold_links)
            elif max(pair.alignment.weights.shape) > MOST_WORDS:
                progress.print(f"line {number} is not drawn: a side has more than {MOST_WORDS} words")
        if gold is not None:  # of a pipe it is known only now
            require_same_length({arguments.source: number, arguments.gold: len(gold)})
    _draw(drawn, directory, arguments.format)
    return kept


def _draw(drawn: dict[int, tuple[list[Translation], Picture]], directory: Path, formats: Sequence[str]) -> None:
    """Draws pairs, named by their lines, in each of the formats."""
    from nmt.drawing import page as viewer
    from nmt.drawing import save_heatmap, save_pages

    if not drawn:
        return
    if "html" in formats:
        entries = [
            viewer.PageSentence(found, f"line {number}", picture.gold) for number, (found, picture) in drawn.items()
        ]
        viewer.save(entries, directory / "alignments.html")
    if "pdf" in formats:
        pictures = [picture for _, picture in drawn.values()]
        save_pages(pictures, directory / "alignments.pdf", LineProgress(len(drawn)).over)
    for suffix in sorted({"png", "svg"}.intersection(formats)):
        for number, (_, picture) in LineProgress(len(drawn)).over(drawn.items()):
            place = directory / f"{number:04d}.{suffix}"
            save_heatmap(picture.alignment, place, picture.title, picture.gold)
