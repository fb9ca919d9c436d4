"""`nmt clean`: a parallel corpus without its bad pairs, and the reason for each dropped pair."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import tee
from typing import TYPE_CHECKING, Literal

from nmt.cli.files import require_files_of_their_own
from nmt.cli.flags import add_model_flags, settings_from_flags, with_dashes
from nmt.cli.loading import lines_of, load_models, say
from nmt.cli.pair_files import GivenText, add_pair_flags
from nmt.cli.parser import Parser, finite, refuse_idle, share
from nmt.config.fields import settings_of
from nmt.config.flags import add_settings
from nmt.errors import NmtError
from nmt.files.outputs import ByteOutput, open_outputs
from nmt.files.paths import can_be_read_again
from nmt.progress import LineProgress, counted
from nmt.text.cleaning import (
    RULE_NAMES,
    Fault,
    RawPair,
    Rules,
    judge,
    judge_by_scores,
    learn_statistics,
    score_limit,
)
from nmt.text.formats import raw_rows
from nmt.text.lines import TO_UTF8
from nmt.text.side_lengths import SideLengths, shifted_rows

if TYPE_CHECKING:
    from nmt.translation.result import Translation

_BY: Literal["unusual"] = "unusual"
_WORST = 0.05
"""Share of the pairs that a model drops by default."""
_OTHER_ENCODING = 0.01
"""A text with a larger share of invalid pairs may have another encoding."""

DESCRIPTION = (
    "Writes the good pairs of a parallel corpus, unchanged and in their order, and counts the dropped pairs by rule. "
    "--report lists every dropped pair. With --model, it also drops the pairs that a trained model finds most unusual, "
    "with the score of nmt explain. Files whose names end in .gz are read and written compressed."
)
EXAMPLE = "nmt clean --source my.en --target my.de --output-source clean.en --output-target clean.de --report why.tsv"


def add_flags(parser: Parser) -> None:
    add_model_flags(parser, required=False)
    add_pair_flags(parser)
    parser.add_argument("--output-source", required=True, metavar="FILE", help="file for the sources of the kept pairs")
    parser.add_argument("--output-target", required=True, metavar="FILE", help="file for the targets of the kept pairs")
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="file for the dropped pairs, with tabs between line, rule, value, threshold, source and target",
    )
    parser.add_argument(
        "--by",
        choices=["unusual", "unlikely"],
        help="with --model: score of a pair; unusual, the score of nmt explain; unlikely, the negative log-probability "
        "per target piece, in nats (default: unusual)",
    )
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument(
        "--worst",
        type=share,
        metavar="SHARE",
        help="with --model: drop this share of the pairs that the rules keep, the worst ones (default: 0.05)",
    )
    limit.add_argument(
        "--threshold",
        type=finite,
        metavar="X",
        help="with --model: drop the pairs with a higher score than this",
    )
    rules = parser.add_argument_group(
        "rules", "The first rule that a pair breaks drops it. The number 0 switches a rule off."
    )
    add_settings(rules, settings_of(Rules), spell=with_dashes)


def run(arguments: Namespace) -> None:
    """Reads the pairs to learn the usual values, again for a model's scores, and again to write them."""
    rules = settings_from_flags(Rules, arguments)
    text = GivenText(arguments)
    _check(arguments, text)
    written = [path for path in (arguments.output_source, arguments.output_target, arguments.report) if path]
    with open_outputs(written) as files:
        outputs, report = files[:2], files[2] if arguments.report else None
        usual, total = None, None
        if text.is_file:
            reading = LineProgress(unit="pairs")
            usual = learn_statistics(reading.over(raw_rows(text.pairs, text.languages)), rules.sample)
            total = reading.count
        judged = judge(raw_rows(text.pairs, text.languages), rules, usual)
        if arguments.model:
            scores = _scores(arguments, text, judge(raw_rows(text.pairs, text.languages), rules, usual))
            judged = judge_by_scores(judged, arguments.by or _BY, scores, _limit(arguments, scores))
        lengths = SideLengths()
        counts = _write(LineProgress(total, unit="pairs").over(judged), outputs, report, lengths)
    _summarize(counts, lengths, arguments)


def _check(arguments: Namespace, text: GivenText) -> None:
    """Refuses contradictions before anything is read or loaded."""
    report = [arguments.report] if arguments.report else []
    outputs = [arguments.output_source, arguments.output_target, *report]
    require_files_of_their_own(text.paths, outputs)
    if not arguments.model:
        refuse_idle(arguments, ["by", "worst", "threshold"], "is for the pairs that a model drops: give --model too")
        refuse_idle(arguments, ["checkpoints", "averaging", "precision"], "is for a model: give --model too")
    streams = [path for path in text.paths if not can_be_read_again([path])]
    if arguments.model and streams:
        raise NmtError(f"{streams[0]}: can be read only once, and --model needs the pairs again: use files")


def _scores(arguments: Namespace, text: GivenText, judged: Iterator[tuple[RawPair, Fault | None]]) -> list[float]:
    """A model's score of each pair that the rules keep, with a warning if they do not look like its training text.

    Args:
        arguments: of the command line.
        text: names the files.
        judged: the pairs, judged by the rules.
    """
    from nmt.explaining.pair_scores import score_pairs

    translator = load_models(arguments)
    sources, targets = tee((_text(one), _text(other)) for (one, other), fault in judged if fault is None)
    progress, cut = lines_of(None), 0  # how many pairs the rules keep is known at the end

    def read() -> Iterator[Translation]:
        nonlocal cut
        one = text.checked((source for source, _ in sources), translator, "source", unit="kept pair")
        other = text.checked((target for _, target in targets), translator, "target", unit="kept pair")
        pairs = translator.align(one, other)
        for pair in progress.over(pairs):
            cut += pair.truncated
            yield pair

    scores = score_pairs(read(), arguments.by or _BY)
    if cut:
        many = f"{counted(cut, 'pair')} with a side that is longer than the model takes"
        say(f"{many}: it read only the beginning of these sides")
    say(f"{counted(progress.count, 'pair')} read by the model in {progress.seconds:.1f} s ({progress.speed})")
    return scores


def _limit(arguments: Namespace, scores: Sequence[float]) -> float:
    """The highest score of a pair that is kept."""
    if arguments.threshold is not None:
        return float(arguments.threshold)
    return score_limit(scores, _WORST if arguments.worst is None else arguments.worst)


def _write(
    judged: Iterator[tuple[RawPair, Fault | None]],
    outputs: list[ByteOutput],
    report: ByteOutput | None,
    lengths: SideLengths,
) -> Counter[str]:
    """Writes kept pairs to the outputs and dropped pairs to the report, and measures the lengths of all pairs.

    Returns:
        The number of dropped pairs by rule, and of kept pairs by "".
    """
    counts: Counter[str] = Counter()
    if report is not None:
        report.write(b"line\trule\tvalue\tthreshold\tsource\ttarget\n")
    for line, (pair, fault) in enumerate(judged, start=1):
        counts[fault.rule if fault else ""] += 1
        if all(pair):
            lengths.add(line, *pair)
        if fault is None:
            for output, text in zip(outputs, pair, strict=True):
                output.write(text + b"\n")
        elif report is not None:
            numbers = _number(fault.value), _number(fault.threshold)
            report.write("\t".join([str(line), fault.rule, *numbers, *map(_cell, pair)]).encode() + b"\n")
    lengths.finish()
    return counts


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace").strip()


def _cell(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace").replace("\t", " ").replace("\r", " ")


def _number(value: str | float | None) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _summarize(counts: Counter[str], lengths: SideLengths, arguments: Namespace) -> None:
    total = counts.total()
    say(f"{counted(total, 'pair')} read, {counts['']:,} kept, {total - counts['']:,} dropped")
    for rule in RULE_NAMES:
        if counts[rule]:
            say(f"  {rule:9} {counts[rule]:>9,}  ({counts[rule] / total:.2%})")
    if counts["invalid"] > _OTHER_ENCODING * total:
        say(f"{counted(counts['invalid'], 'pair')} not valid UTF-8: if the text has another encoding, {TO_UTF8}")
    if shifted := shifted_rows(lengths.apart, lengths.others, total):
        say(f"warning: {shifted}")
    report = f"; the dropped pairs are in {arguments.report}" if arguments.report else ""
    say(f"the kept pairs are in {arguments.output_source} and {arguments.output_target}{report}")
