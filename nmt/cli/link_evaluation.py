"""`nmt evaluate --links`: files of links against gold links, and against each other."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from nmt.cli.files import count_lines, require_files_of_their_own, require_same_length
from nmt.cli.gold import print_alignment_score, read_classes, read_gold_flags, whole_gold
from nmt.cli.loading import SEARCH, corpus_from_flags, say, say_if_few
from nmt.cli.pair_files import GivenText, are_pairs_given, is_text_given, refuse_parts
from nmt.cli.parser import Parser, refuse_idle
from nmt.errors import NmtError
from nmt.files.outputs import open_output, require_writable
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    from nmt.alignment.links import Gold, Links

_MODEL_FLAGS = ("model", "checkpoints", "averaging", "precision", "tokenize", "output", "aligner", *SEARCH)


def add_link_flags(parser: Parser) -> None:
    group = parser.add_argument_group("links", "Links of any aligner are measured without a model.")
    group.add_argument(
        "--links",
        nargs="+",
        metavar="FILE",
        help="one or two files of links in Pharaoh format, measured against --gold; two are compared by the paired "
        "bootstrap",
    )
    group.add_argument(
        "--picture",
        metavar="FILE",
        help="drawing of the sentences in which the two files of --links differ most; .png, .pdf or .svg, needs "
        "--source and --target",
    )


def refuse_link_flags(arguments: Namespace) -> None:
    """Refuses the flags for links where a model is measured."""
    refuse_idle(arguments, ["picture"], "is for two files of links: give --links")
    if not arguments.model:
        raise NmtError("--model is missing: give the run directory of nmt train, or --links to measure files of links")
    if not arguments.gold:
        refuse_idle(arguments, ["classes", "aligner"], "is for the links of --gold: name that file too")


def evaluate_links(arguments: Namespace) -> None:
    """Measures one or two files of links, and prints and writes the results."""
    from nmt.alignment.links import require_in_range

    _check_flags(arguments)
    read = [*arguments.links, arguments.gold, *([arguments.classes] if arguments.classes else [])]
    text = GivenText(arguments, languages=True) if is_text_given(arguments) else None
    written = [path for path in (arguments.json, arguments.picture) if path]
    require_files_of_their_own([*read, *(text.paths if text else [])], written)
    counts = {path: count_lines(path) for path in arguments.links}
    total = require_same_length(counts | ({text.name: text.count()} if text else {}))
    gold, classes = read_gold_flags(arguments, arguments.links[0], total), read_classes(arguments.classes)
    assert gold is not None
    pairs = _words_of_pairs(arguments, text) if text else []
    for number, (links, pair) in enumerate(zip(gold, pairs, strict=False), start=1):
        require_in_range(links, *pair, f"{arguments.gold}, sentence {number}")
    with ExitStack() as files:
        report = files.enter_context(open_output(arguments.json)) if arguments.json else None
        found = [_read_links(path, pairs) for path in arguments.links]
        require_same_length(dict(zip(arguments.links, map(len, found), strict=True)))
        gold = whole_gold(arguments, gold, arguments.links[0], len(found[0]))
        results = _print_results(arguments.links, found, gold, pairs, classes)
        say_if_few(len(gold))
        if arguments.picture:
            _draw(arguments, found, gold, pairs)
        if report is not None:
            report.write(json.dumps({"sentences": len(gold), "gold": arguments.gold} | results, indent=2) + "\n")
    if written:
        say(f"written to {' and '.join(written)}")


def _words_of_pairs(arguments: Namespace, text: GivenText) -> list[tuple[list[str], list[str]]]:
    """The words of both sides of each pair."""
    from nmt.text.languages import words_of

    sources, targets = (list(side) for side in text.sides())
    of_source, of_target = words_of(corpus_from_flags(arguments, sources, targets))
    return [(of_source(source), of_target(target)) for source, target in zip(sources, targets, strict=True)]


def _check_flags(arguments: Namespace) -> None:
    refuse_idle(arguments, _MODEL_FLAGS, "is for a model: leave it or --links out")
    if len(arguments.links) > 2:
        raise NmtError(f"--links names {len(arguments.links)} files: expected one, or two to compare")
    if not arguments.gold:
        raise NmtError("--links are measured against gold links: give --gold too")
    if arguments.picture and len(arguments.links) < 2:
        raise NmtError("--picture draws two files of links beside each other: name two for --links")
    if (arguments.classes or arguments.picture) and not are_pairs_given(arguments):
        raise NmtError("--classes and --picture read the words of the pairs: give --source and --target too")
    if not is_text_given(arguments):
        refuse_parts(arguments)
    if "-" in (arguments.json, arguments.picture):
        raise NmtError("standard output (-) has the scores: name files for --json and --picture")
    if arguments.picture:
        from pathlib import Path

        from nmt.drawing import check_suffix

        check_suffix(Path(arguments.picture))
        require_writable(arguments.picture)


def _read_links(path: str, pairs: list[tuple[list[str], list[str]]]) -> list[Links]:
    """The links of a file, sure and possible alike."""
    from nmt.alignment.links import require_in_range
    from nmt.alignment.pharaoh_and_naacl import parse_pharaoh

    found = [parse_pharaoh(line, f"{path}:{number}") for number, line in enumerate(read_lines(path), start=1)]
    for number, (links, pair) in enumerate(zip(found, pairs, strict=False), start=1):
        require_in_range(links, *pair, f"{path}:{number}")
    return [links.possible for links in found]


def _print_results(
    paths: list[str], found: list[list[Links]], gold: list[Gold], pairs: Any, classes: Any
) -> dict[str, Any]:
    """The scores of each file, and their comparison if there are two."""
    from nmt.evaluation.alignment_bootstrap import compare_links
    from nmt.evaluation.alignment_error_rate import link_counts

    results: dict[str, Any] = {"links": []}
    for path, links in zip(paths, found, strict=True):
        print(f"{path}: ", end="")
        results["links"].append({"file": path} | print_alignment_score(links, gold, pairs, classes))
    if len(found) == 2:
        compared = compare_links(link_counts(found[0], gold), link_counts(found[1], gold))
        print(
            f"difference of AER: {compared.difference:+.3f}, 95 % interval {compared.interval.low:+.3f} to "
            f"{compared.interval.high:+.3f}, p = {compared.p_value:.3f} (paired bootstrap)"
        )
        results["comparison"] = compared._asdict() | {"interval": list(compared.interval)}
    return results


def _draw(arguments: Namespace, found: list[list[Links]], gold: list[Gold], pairs: Any) -> None:
    """Draws the sentences in which the two files differ most."""
    from nmt.drawing import save_figure
    from nmt.drawing.link_comparison import ComparedPair, draw_link_comparison, most_different

    compared = [
        ComparedPair(number, source, target, first, second, of_pair)
        for number, ((source, target), first, second, of_pair) in enumerate(
            zip(pairs, *found, gold, strict=True), start=1
        )
    ]
    save_figure(draw_link_comparison(most_different(compared), tuple(arguments.links)), arguments.picture)
