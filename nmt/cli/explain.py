"""`nmt explain`: the unusual pairs of a corpus, and the reason for each."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt.cli.files import outdated_drawings, require_files_of_their_own
from nmt.cli.flags import (
    add_model_flags,
    add_output_directory_flag,
    add_search_flags,
    refuse_file,
    refuse_search_flags,
)
from nmt.cli.loading import add_aligner_flag, language_tags, lines_of, load, say, say_if_cut, use_aligner, watched
from nmt.cli.pair_files import GivenText, add_pair_flags, are_pairs_given
from nmt.cli.parser import Parser, count, refuse_idle
from nmt.files.outputs import open_output
from nmt.files.paths import output_directory
from nmt.progress import LineProgress, counted

if TYPE_CHECKING:
    from nmt.alignment.word_alignment import WordAlignment
    from nmt.explaining.erasure import Erasure
    from nmt.explaining.report import UnusualPair
    from nmt.translation.result import Translation

RECORDS, TABLE = "explanation.jsonl", "sentences.tsv"
"""Files with the measures of all pairs."""

DESCRIPTION = (
    "Finds unusual pairs and says why they are unusual. sentences.tsv has all pairs, the most unusual first, with "
    "line, score, measures and a reason in words; an apostrophe stands before text that a spreadsheet would take for a "
    "formula (= + - @). explanation.jsonl has attention and measures of each pair, in "
    "the order of the input. The worst pairs are printed, drawn one by one and shown in explanation.html. Means over "
    "all pairs are printed too. With --target, the given pairs are explained; without, the model's own translations. "
    "With --erase, the report has the log-probability that each target word loses when a source word is erased, and "
    "how well attention agrees with these losses."
)
EXAMPLE = "nmt explain --model saved_models/mine --source my.en --target my.de --output report"


def add_flags(parser: Parser) -> None:
    add_model_flags(parser)
    add_pair_flags(parser)
    add_output_directory_flag(parser)
    parser.add_argument(
        "--erase",
        nargs="?",
        choices=["word", "attention"],
        const="word",
        help="erase one source word at a time: from the sentence (word, the default), or only from the decoder's "
        "attention (attention); this costs a forward pass per source word",
    )
    parser.add_argument(
        "--limit",
        type=count,
        default=10,
        metavar="N",
        help="number of unusual pairs that are printed and drawn (default: 10)",
    )
    add_aligner_flag(parser)
    add_search_flags(parser)
    parser.aliases["--worst"] = "--limit"


def run(arguments: Namespace) -> None:
    """Measures every pair, then writes the report."""
    if are_pairs_given(arguments):
        refuse_search_flags(arguments)
    refuse_idle(arguments, ["split_sentences"], "is for translating: nmt explain reads each line as a whole")
    refuse_file(arguments.output)
    text = GivenText(arguments, pairs=False)
    require_files_of_their_own(text.paths, [str(Path(arguments.output) / name) for name in (RECORDS, TABLE)])
    total = text.count()
    translator, search = load(arguments)
    use_aligner(arguments, translator)
    if text.pairs:
        pairs = translator.align(*text.checked_sides(translator))
    else:
        whole = replace(search, split_sentences="never")  # so that the model's pass over the pair is that of its search
        pairs = translator.translate(text.sources(translator), whole)
    if arguments.erase:
        from nmt.explaining.erasure import PAIRS_TOGETHER, erase

        progress = LineProgress(total, window=PAIRS_TOGETHER)
        explained = _erased(erase(translator, pairs, arguments.erase, search.max_source), progress)
    else:
        progress = lines_of(total)
        explained = ((pair, None) for pair in watched(pairs, progress))
    with output_directory(Path(arguments.output)) as directory:
        lines = write_report(explained, directory, arguments.limit, language_tags(translator))
    print(*lines, sep="\n")  # after the files, which a reader that stops early, such as head, leaves complete
    say(f"{counted(progress.count, 'pair')} in {progress.seconds:.1f} s, written to {directory}")


def _erased(
    pairs: Iterable[tuple[Translation, Erasure]], progress: LineProgress
) -> Iterator[tuple[Translation, Erasure | None]]:
    """Passes the pairs on, with progress and a line about each sentence that was cut off."""
    for pair, erasure in progress.over(pairs):
        say_if_cut(pair, progress)
        yield pair, erasure


def write_report(
    explained: Iterable[tuple[Translation, Erasure | None]],
    directory: Path,
    worst: int,
    languages: tuple[str, str] = ("", ""),
) -> list[str]:
    """Writes the records and the table of all pairs, and draws the most unusual pairs.

    Args:
        explained: pairs, which may be a stream, each with its erasure or None.
        directory: for the files.
        worst: number of pairs that are printed and drawn.
        languages: tags of the languages of source and target, for the page.

    Returns:
        Lines for the user: the most unusual pairs and the means.
    """
    from nmt.explaining.report import count_unusual, mean_lines, write_records, write_table

    with (
        outdated_drawings(directory, "explanation"),
        open_output(str(directory / RECORDS)) as records,
        open_output(str(directory / TABLE)) as table,
    ):
        corpus = write_records(explained, records)
        outliers, summary = count_unusual(corpus)
        with open(records.name, "rb") as written:
            worst_pairs = write_table(corpus, outliers, written, table, worst)
    _draw(LineProgress(len(worst_pairs), unit="pictures").over(worst_pairs), directory, languages)
    return [summary, *map(_pair_lines, worst_pairs), *mean_lines(corpus)]


def _pair_lines(pair: UnusualPair) -> str:
    source, target = (" ".join(pair.record[side]) for side in ("source", "target"))
    return f"\nline {pair.record['line']}{_score(pair)}: {pair.reason}\n  {source}\n  {target}"


def _score(pair: UnusualPair) -> str:
    return "" if math.isnan(pair.score) else f", score {pair.score:.2f}"


class _RecordedPair(NamedTuple):
    """A pair as the page shows it, read back from its record."""

    text: str
    log_probability: float
    alignment: WordAlignment


def _draw(pairs: Iterable[UnusualPair], directory: Path, languages: tuple[str, str]) -> None:
    """Draws a heat map of each pair, with its erasure if there is one, and a page with all of them."""
    from nmt.alignment.word_alignment import WordAlignment
    from nmt.drawing import drawable, save_heatmap
    from nmt.drawing import page as viewer
    from nmt.explaining.erasure import Erasure

    sentences = []
    for pair in pairs:
        record, line = pair.record, pair.record["line"]
        alignment = WordAlignment.from_json(record)
        erasure = Erasure.from_json(record["erasure"]).falls if "erasure" in record else None
        if drawable(alignment):
            title = f"line {line}, log-probability {record['log_probability']:.2f}"
            save_heatmap(alignment, directory / f"{line:04d}.png", title, erasure=erasure)
            shown = _RecordedPair(" ".join(alignment.target), record["log_probability"], alignment)
            heading = f"line {line}{_score(pair)}"
            sentences.append(
                viewer.PageSentence([shown], heading, erasure=erasure, languages=languages, note=pair.reason)
            )
    if sentences:
        viewer.save(sentences, directory / "explanation.html", "The most unusual pairs")
